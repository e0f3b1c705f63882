// Problems of a config, as a person reads them: where, what, and what was probably meant.

import type { z } from 'zod'
import { WaggleError } from '../../protocol/errors.ts'
import { didYouMean } from '../../protocol/suggest.ts'
import { safeText } from '../../protocol/text.ts'
import { configSchema } from './schema.ts'
import type { Layers, Problem } from './sources.ts'

/** In the order of the file. */
export function invalidConfig(file: string, problems: readonly Problem[]): WaggleError {
  const one = problems.length === 1
  const ordered = [...problems].sort((a, b) => lineIn(a) - lineIn(b))
  const rows = ordered.map(
    ({ where, path, message }) => `  ${[where, path, message].filter(Boolean).join('  ')}`,
  )
  return new WaggleError(
    'E_CONFIG',
    safeText(`the config has ${one ? 'a problem' : `${problems.length} problems`}\n${rows.join('\n')}`, {
      limit: 16_384,
    }),
    {
      hint: `Edit ${file}, then try \`waggle config check\`. Every key is explained by \`waggle help config\`.`,
      data: { problems: ordered },
    },
  )
}

/** Problems of the file in its order; those from elsewhere come last. */
function lineIn({ where }: Problem): number {
  return Number(/:(\d+)/.exec(where)?.[1] ?? Number.POSITIVE_INFINITY)
}

/** What the schema has found, in words. */
export function explain(issue: z.core.$ZodIssue, { originOf }: Layers): Problem[] {
  const path = issue.path.join('.')
  // A key that is missing has no line; its table has one.
  const where = originOf(issue.path) ?? originOf(issue.path.slice(0, -1)) ?? ''
  if (issue.code === 'unrecognized_keys') {
    const known = siblings(issue.path)
    return issue.keys.map((key) => ({
      where: originOf([...issue.path, key]) ?? where,
      path: [...issue.path, key].join('.'),
      message: `there is no such key.${didYouMean(key, known)}`,
    }))
  }
  if (issue.code === 'invalid_value') {
    const words = issue.values.map(String)
    const given = typeof issue.input === 'string' ? didYouMean(issue.input, words) : ''
    return [{ where, path, message: `must be one of ${words.join(', ')}.${given}` }]
  }
  if (issue.code === 'invalid_type') {
    const wanted = (
      {
        int: 'a whole number',
        number: 'a number',
        string: 'a text',
        boolean: 'true or false',
        array: 'a list',
        object: 'a table',
      } as Record<string, string>
    )[issue.expected]
    return [{ where, path, message: `must be ${wanted ?? issue.expected}` }]
  }
  if (issue.code === 'too_small')
    return [
      {
        where,
        path,
        message: `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}${unitOf(issue.origin)}`,
      },
    ]
  if (issue.code === 'too_big')
    return [{ where, path, message: `must be at most ${issue.maximum}${unitOf(issue.origin)}` }]
  return [{ where, path, message: issue.message }]
}

const unitOf = (origin: string): string =>
  origin === 'string' ? ' characters' : origin === 'array' ? ' entries' : ''

/** The keys that the schema knows at a path. */
function siblings(path: readonly PropertyKey[]): string[] {
  let at: unknown = configSchema
  for (const part of path) {
    at = unwrap(at)
    at =
      typeof part === 'number'
        ? (at as { element?: unknown }).element
        : (at as { shape?: Record<PropertyKey, unknown> }).shape?.[part]
  }
  return Object.keys((unwrap(at) as { shape?: object } | undefined)?.shape ?? {})
}

function unwrap(schema: unknown): unknown {
  let at = schema as { def?: { innerType?: unknown } } | undefined
  while (at?.def?.innerType) at = at.def.innerType as typeof at
  return at
}
