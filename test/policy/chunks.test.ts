import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CommonEnd, commonEnds } from '../../daemon/policy/tokens/chunks.ts'
import { sharedTokens } from '../../daemon/policy/tokens/same-tokens.ts'
import { createTokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import { asciiTokenizer, byteTokenizer } from './tokenizers.ts'

const bytes = fc.uint8Array({ maxLength: 40 })
const cuts = fc.array(fc.nat(40), { maxLength: 12 })

/** Tokens that end at these bytes; twice the same place gives a token without bytes. */
function cut(text: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = [...at.filter((one) => one < text.length).sort((a, b) => a - b), text.length]
  return places.map((end, i) => text.subarray(places[i - 1] ?? 0, end))
}

const lengthOf = (tokens: readonly Uint8Array[], count: number): number =>
  tokens.slice(0, count).reduce((sum, { length }) => sum + length, 0)

/** Sums between one end and the next. */
function sumsOf(values: readonly number[], ends: readonly CommonEnd[], which: keyof CommonEnd): number[] {
  const from = [0, ...ends.map((end) => end[which])]
  return ends.map((end, i) => values.slice(from[i], end[which]).reduce((a, b) => a + b, 0))
}

test('two tokenizations of the same bytes end together at every byte where both end, and nowhere else', () => {
  fc.assert(
    fc.property(bytes, cuts, cuts, (text, a, b) => {
      const [first, second] = [cut(text, a), cut(text, b)]
      const ends = commonEnds(first, second)
      const places = (tokens: Uint8Array[]) => new Set(tokens.map((_, i) => lengthOf(tokens, i + 1)))
      const others = places(second)
      const both = [...places(first)].filter((place) => place > 0 && others.has(place))
      expect(ends.map((end) => lengthOf(first, end.first))).toEqual(both.sort((x, y) => x - y))
      expect(ends.map((end) => lengthOf(second, end.second))).toEqual(both)
      expect(commonEnds(second, first)).toEqual(ends.map((end) => ({ first: end.second, second: end.first })))
    }),
  )
})

test('the sums of all chunks are the sums of all tokens before the last end', () => {
  fc.assert(
    fc.property(bytes, cuts, cuts, (text, a, b) => {
      const [first, second] = [cut(text, a), cut(text, b)]
      const ends = commonEnds(first, second)
      for (const [tokens, which] of [
        [first, 'first'],
        [second, 'second'],
      ] as const) {
        const values = tokens.map((_, i) => 2 ** i)
        const total = sumsOf(values, ends, which).reduce((x, y) => x + y, 0)
        expect(total).toBe(2 ** (ends.at(-1)?.[which] ?? 0) - 1)
      }
    }),
  )
})

test('of equal tokenizations each token with bytes is a chunk', () => {
  fc.assert(
    fc.property(bytes, cuts, (text, a) => {
      const tokens = cut(text, a)
      const filled = tokens.flatMap(({ length }, i) => (length > 0 ? [i + 1] : []))
      expect(commonEnds(tokens, tokens)).toEqual(filled.map((at) => ({ first: at, second: at })))
    }),
  )
})

test('nothing is common after the first other byte', () => {
  const of = (...tokens: number[][]) => tokens.map((one) => Uint8Array.from(one))
  expect(commonEnds(of([1], [2, 3], [4]), of([1], [2], [9], [4]))).toEqual([{ first: 1, second: 1 }])
})

test('an answer ends with what the chat template ends it with, though another stop token is named first', () => {
  const plain = asciiTokenizer()
  // `<unk>` is 0 and the end of a turn 2.
  const first = createTokenizer({ ...plain, generation: [{ eos_token_id: [0, 2] }] })
  expect(first.stopTokens[0]).toBe(0)
  expect(first.endOfTurn()).toBe(2)
  expect([...first.encodeCompletion('a', 'stop')].at(-1)).toBe(2)
})

test('tokens are shared if every id means the same bytes, whatever the padding; else not', () => {
  const of = (files: ReturnType<typeof asciiTokenizer>, vocabulary: number) => ({
    tokenizer: createTokenizer(files),
    spec: { vocabulary },
  })
  const plain = asciiTokenizer()
  const other = { ...plain, config: { ...plain.config, chat_template: '{{ messages[0].content }}' } }
  expect(sharedTokens(of(plain, 128), of(other, 160))).toBe(128)
  expect(sharedTokens(of(plain, 128), of(byteTokenizer('byte-level'), 500))).toBeUndefined()
})
