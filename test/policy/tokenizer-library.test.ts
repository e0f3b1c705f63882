// Tokenizers beside the Rust library, whose answers scripts/fixtures/rust_tokens.py wrote.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../daemon/policy/files/model-files.ts'
import { createTokenizer } from '../../daemon/policy/tokens/tokenizer.ts'

type Rows = Record<string, { json: JsonObject; rows: [text: string, ids: number[]][] }>
const FIXTURE = JSON.parse(readFileSync(new URL('./tokenizer-library.json', import.meta.url), 'utf8')) as Rows

describe('texts are encoded as by the Rust library', () => {
  for (const [name, { json, rows }] of Object.entries(FIXTURE))
    test(name, () => {
      const tokenizer = createTokenizer({
        tokenizer: json,
        config: { eos_token: '<|end|>' },
        generation: {},
      })
      for (const [text, ids] of rows) expect([...tokenizer.encode(text)], JSON.stringify(text)).toEqual(ids)
    })
})

test('an added token that must be a whole word is text inside a longer word', () => {
  const { json, rows } = FIXTURE.added!
  const tokenizer = createTokenizer({ tokenizer: json, config: { eos_token: '<|end|>' }, generation: {} })
  const added = json.added_tokens as { content: string; id: number }[]
  const { id } = added.find(({ content }) => content === 'foo')!
  expect(rows.length).toBeGreaterThan(0)
  expect([...tokenizer.encode('foobar')]).not.toContain(id)
  expect([...tokenizer.encode('foo bar')]).toContain(id)
})
