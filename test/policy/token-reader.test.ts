// Reading a completion token by token, beside decoding it at once.

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { createTokenizer, type Tokenizer, type TokenizerFiles } from '../../daemon/policy/tokens/tokenizer.ts'
import { asciiTokenizer, byteTokenizer } from './tokenizers.ts'

const bundled = (): TokenizerFiles => {
  const file = (name: string) =>
    JSON.parse(readFileSync(new URL(`../../models/default/${name}`, import.meta.url), 'utf8'))
  return {
    tokenizer: file('tokenizer.json'),
    config: file('tokenizer_config.json'),
    generation: file('generation_config.json'),
  }
}
/** Words with a space before them, which is dropped at the start of a text. */
function metaspace(): TokenizerFiles {
  const { tokenizer, ...files } = byteTokenizer('byte-fallback')
  const model = tokenizer.model as { vocab: Record<string, number> }
  const decoders = [
    { type: 'Replace', pattern: { String: '\u2581' }, content: ' ' },
    ...[{ type: 'ByteFallback' }, { type: 'Fuse' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }],
  ]
  const vocab = { ...model.vocab, '\u2581': 500, '\u2581an': 501 }
  return {
    ...files,
    tokenizer: { ...tokenizer, decoder: { type: 'Sequence', decoders }, model: { ...model, vocab } },
  }
}

const TOKENIZERS: Record<string, { make: () => TokenizerFiles; ids: number[] }> = {
  bundled: { make: bundled, ids: Array.from({ length: 512 }, (_, id) => id) },
  'byte-level': { make: () => byteTokenizer('byte-level'), ids: [1, 2, ...range(200, 456)] },
  'byte-fallback': {
    make: () => byteTokenizer('byte-fallback'),
    ids: [...range(1, 104), ...range(200, 456)],
  },
  metaspace: { make: metaspace, ids: [...range(1, 104), ...range(200, 456), 500, 501] },
  ascii: { make: asciiTokenizer, ids: range(1, 104) },
}
function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

function readAll(tokenizer: Tokenizer, tokens: readonly number[]) {
  const reader = tokenizer.reader()
  const seen: string[] = []
  const bytes: number[] = []
  for (const token of tokens) {
    bytes.push(...reader.read(token))
    seen.push(reader.text)
  }
  return { seen, bytes, whole: reader.end() }
}

describe.each(Object.keys(TOKENIZERS))('tokens of the tokenizer %s', (name) => {
  const { make, ids } = TOKENIZERS[name]!
  const tokenizer = createTokenizer(make())
  const some = fc.array(fc.constantFrom(...ids), { maxLength: 24 })

  test('read one by one are the text of all', () => {
    fc.assert(
      fc.property(some, (tokens) => {
        const { whole, bytes, seen } = readAll(tokenizer, tokens)
        const text = tokenizer.decodeCompletion(Int32Array.from(tokens))
        expect(whole).toBe(text)
        expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes))).toBe(text)
        // What was read is never taken back.
        for (const [i, part] of seen.entries()) expect(part.startsWith(seen[i - 1] ?? '')).toBe(true)
        expect(whole.startsWith(seen.at(-1) ?? '')).toBe(true)
      }),
    )
  })

  test('of real text have no replaced character at any place', () => {
    const real = fc.string({ unit: 'binary', maxLength: 8 }).filter((text) => !text.includes('\ufffd'))
    fc.assert(
      fc.property(real, (text) => {
        const tokens = [...tokenizer.encode(text)]
        for (const part of readAll(tokenizer, tokens).seen) expect(part).not.toContain('\ufffd')
      }),
    )
  })
})

it('a model that writes bytes which are no text does not hold back what follows', () => {
  const tokenizer = createTokenizer(byteTokenizer('byte-level'))
  const { seen } = readAll(tokenizer, Array<number>(50).fill(200 + 0xc3))
  expect(seen.at(-1)).toBe('\ufffd'.repeat(49))
})
