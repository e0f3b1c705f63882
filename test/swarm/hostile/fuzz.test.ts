// 100 000 hostile messages over every kind that a peer can send, and the corpus that longer runs have left. The script
// scripts/bench/swarm/fuzz.ts does the same ten million times, and grows the corpus.

import { describe, expect, test } from 'vitest'
import { seeded } from '../../protocol/wire/arbitrary.ts'
import { HARNESSES, next, outcome, readCorpus, seeds } from './fuzzing.ts'

const FRAMES = 100_000
const corpus = readCorpus()

describe('the corpus: each message has its recorded outcome again', () => {
  // Admission remembers earlier frames, and a node that joins heads remembers its own.
  const remember = ['admission', 'joined-head']
  for (const harness of Object.keys(HARNESSES).filter((name) => !remember.includes(name))) {
    test(harness, () => {
      const entries = corpus.get(harness)
      expect(entries?.size).toBeGreaterThan(0)
      for (const [said, bytes] of entries!) expect(outcome(harness, bytes)).toBe(said)
    })
  }
})

test('100 000 mutated messages: an answer or a fault, nothing else, and nothing polluted', () => {
  const random = seeded(20_261_120)
  const from = [...seeds(), ...[...corpus.values()].flatMap((entries) => [...entries.values()])]
  const harnesses = Object.keys(HARNESSES)
  let answered = 0
  for (let i = 0; i < FRAMES; i++) {
    const bytes = next(from, random)
    const harness = harnesses[i % harnesses.length]!
    let said: string
    try {
      said = outcome(harness, bytes)
    } catch (cause) {
      throw new Error(`${harness}: ${Buffer.from(bytes).toString('hex')}`, { cause })
    }
    if (said === 'read') answered++
  }
  expect(answered).toBeGreaterThan(100)
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
}, 60_000)
