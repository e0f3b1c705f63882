// A peer's long text is encoded in slices: the same tokens as in one go, other work in between, and no more than the limit.

import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadModel } from '../../../daemon/policy/model.ts'
import { codecOf } from '../../../daemon/policy/tokens/codec.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { readText } from '../../../daemon/swarm/admission/read-text.ts'
import type { Codec } from '../../../daemon/swarm/types.ts'
import { codec as characters } from '../groups.ts'

const { tokenizer, spec } = await loadModel(
  fileURLToPath(new URL('../../../models/default', import.meta.url)),
  {
    disk,
  },
)
const codec = codecOf(tokenizer, spec.vocabulary)

function read(text: string, by: Codec = codec, most = 100_000) {
  const steps = readText(text, 'stop', { codec: by, most })
  for (let yields = 0; ; yields++) {
    const { done, value } = steps.next()
    if (done) return { yields, value }
  }
}

/** Of each piece that was encoded, its length. */
function counted(by: Codec): { codec: Codec; lengths: number[] } {
  const lengths: number[] = []
  const encodeCompletion: Codec['encodeCompletion'] = (text, finish) => {
    lengths.push(text.length)
    return by.encodeCompletion(text, finish)
  }
  return { codec: { ...by, encodeCompletion }, lengths }
}

test('text with spaces: the tokens of the whole text, in slices', () => {
  const word = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' }).filter((text) => !/\s/.test(text))
  const gap = fc.constantFrom(' ', ' ', ' ', '\n', '  ', ', ')
  const texts = fc.array(fc.tuple(word, gap), { minLength: 300, maxLength: 400 })
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.flat().join('')
      const { yields, value } = read(text)
      const whole = codec.encodeCompletion(text, 'stop')
      expect(value).toEqual(codec.decodeCompletion(whole) === text ? whole : 'text')
      if (text.length > 1024) expect(yields).toBeGreaterThan(0)
    }),
    { numRuns: 10 },
  )
})

test.each([
  ['one letter', 'a'.repeat(20_000)],
  ['digits', '7'.repeat(20_000)],
  ['spaces', ' '.repeat(20_000)],
  ['pairs of surrogates', 'a\u{10348}'.repeat(7000)],
])('%s: no slice is long, and the tokens decode to the text', (_, text) => {
  const by = counted(codec)
  const { value } = read(text, by.codec)
  expect(Math.max(...by.lengths)).toBeLessThanOrEqual(1024)
  expect(typeof value === 'string' ? value : codec.decodeCompletion(value)).toBe(text)
})

test('once there are too many tokens, the rest is not read', () => {
  const by = counted(codec)
  expect(read('7'.repeat(60_000), by.codec, 4096).value).toBe('long')
  expect(by.lengths.reduce((sum, length) => sum + length)).toBeLessThan(6000)
})

/** Puts a space before every text, and takes one off, as SentencePiece does. */
const spaced: Codec = {
  ...characters,
  encodeCompletion: (text, finish) => characters.encodeCompletion(` ${text}`, finish),
  decodeCompletion: (ids) => characters.decodeCompletion(ids)?.replace(/^ /, ''),
}
/** Has to see the whole text. */
const marking: Codec = {
  ...characters,
  encodeCompletion: (text, finish) => characters.encodeCompletion(`^${text}`, finish),
  decodeCompletion: (ids) => characters.decodeCompletion(ids)?.replace(/^\^/, ''),
}

test('a tokenizer that puts a space before every text gets none twice', () => {
  const text = 'some words to be read '.repeat(200).trim()
  const { yields, value } = read(text, spaced)
  expect(value).toEqual(spaced.encodeCompletion(text, 'stop'))
  expect(yields).toBeGreaterThan(3)
})

test('a tokenizer whose pieces do not join reads the text as a whole', () => {
  const text = 'some words to be read '.repeat(200).trim()
  expect(read(text, marking)).toEqual({ yields: 0, value: marking.encodeCompletion(text, 'stop') })
})
