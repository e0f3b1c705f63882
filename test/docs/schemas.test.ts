// The contracts for machines are what they say they are: OpenAPI documents and a JSON schema, by their own schemas.

import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { blocksOf, PAGES, read } from './blocks.ts'

test.each(['control-api.json', 'gateway-api.json'])('%s is an OpenAPI document', async (file) => {
  const { valid, errors } = await new Validator().validate(JSON.parse(read(`docs/reference/${file}`)))
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
})

test('the schema of the config is a JSON schema, takes every config of the documents, and no unknown key', () => {
  const accepts = new Ajv({ strict: true, allowUnionTypes: true, formats: { uri: true } }).compile(
    JSON.parse(read('docs/reference/config.schema.json')),
  )
  const configs = PAGES.flatMap((page) => blocksOf(read(page)))
    .filter(({ language }) => language === 'toml')
    .map(({ text }) => text)
  expect(configs.length).toBeGreaterThan(10)
  for (const text of configs) expect([text, accepts(parse(text)), accepts.errors]).toEqual([text, true, null])
  expect(accepts({ mdoel: {} })).toBe(false)
})
