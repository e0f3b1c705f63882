// The config as a JSON schema (draft 7, which editors of TOML understand), for completion and checks while one types.

import { z } from 'zod'
import { configSchema } from './schema.ts'

/** What `waggle init` calls the schema, beside the config that names it. */
export const SCHEMA_FILE = 'config.schema.json'

export function configJsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, {
    ...{ io: 'input', target: 'draft-07', unrepresentable: 'any' },
    override: ({ jsonSchema }) => {
      // A format of zod's own, beside the pattern that says it.
      if ((jsonSchema.format as string | undefined) === 'starts_with') delete jsonSchema.format
      // Taplo's regular expressions, which are Rust's, need the escape within a class.
      if (jsonSchema.pattern) jsonSchema.pattern = jsonSchema.pattern.replaceAll('[^\\s:[', '[^\\s:\\[')
    },
  })
  return { ...schema, title: "Waggle's config.toml" }
}
