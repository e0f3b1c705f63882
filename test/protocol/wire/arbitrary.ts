// Any group that the wire allows, for property tests.

import fc from 'fast-check'
import type { CASES } from './cases.ts'

type Case = (typeof CASES)[string]

const hex32 = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'))
const count = fc.nat({ max: 0xffff_ffff })

/** Valid Unicode, blanks and invisible characters included. */
export const anyText = fc.string({ unit: 'binary', maxLength: 80 }).filter((text) => text.isWellFormed())

const rollout = fc
  .record({
    text: anyText,
    finish: fc.constantFrom('stop', 'length', 'aborted' as const),
    lengths: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
    version: count,
    form: fc.constantFrom('text', 'tokens', 'logprobs' as const),
    id: fc.integer({ min: 0, max: (1 << 20) - 1 }),
    logprob: fc.double({ min: -80, max: 0, noNaN: true }),
  })
  .map(({ text, finish, lengths, version, form, id, logprob }) => {
    let start = 0
    const segments = lengths.map((length) => {
      start += length
      return { version, start: start - length, length }
    })
    const tokens = Int32Array.from({ length: start }, (_, i) => (id + i) % (1 << 20))
    const behaviourLogprobs = Float32Array.from({ length: start }, (_, i) => logprob / (i + 1))
    if (form === 'text') return { text, finish, segments }
    if (form === 'tokens') return { text, finish, segments, tokens }
    return { text, finish, segments, tokens, behaviourLogprobs }
  })

export const anyGroup: fc.Arbitrary<Case> = fc.record({
  prompt: fc.record({
    task: fc.constantFrom('a', 'basic_arithmetic', 'z9'),
    taskVersion: fc.integer({ min: 1, max: 0xffff_ffff }),
    seed: count,
    difficulty: fc.integer({ min: -1_000_000, max: 1_000_000 }),
  }),
  arm: fc.constantFrom('base', 'hint.2'),
  policy: fc.record({ lineage: hex32, tokenizer: hex32, version: count }),
  rollouts: fc.array(rollout, { minLength: 2, maxLength: 6 }),
  sequence: fc.maxSafeNat(),
  createdAt: fc.maxSafeNat(),
})

/** A few random bytes changed, cut, doubled or put in; a stand-in for a fuzzer's mutator. */
export function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  const at = Math.floor(random() * bytes.length)
  const copy = Uint8Array.from(bytes)
  switch (Math.floor(random() * 5)) {
    case 0:
      copy[at] = Math.floor(random() * 256)
      return copy
    case 1:
      copy[at] = copy[at]! ^ (1 << Math.floor(random() * 8))
      return copy
    case 2:
      return copy.slice(0, at)
    case 3:
      return Uint8Array.from([...copy.subarray(0, at), Math.floor(random() * 256), ...copy.subarray(at)])
    default: {
      const end = Math.min(copy.length, at + Math.floor(random() * 16))
      copy.copyWithin(Math.floor(random() * copy.length), at, end)
      return copy
    }
  }
}

/** Mulberry32: small, seeded, good enough to choose mutations. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
