// A crowd of authors that introduce themselves behind one peer: what scoring them costs a node, and who else gets known.
// The engine only counts.

import { expect, test } from 'vitest'
import type { ScoreRequest } from '../../daemon/engine/engine.ts'
import { createPromptMix } from '../../daemon/trainer/batch/prompt-mix.ts'
import { createIntroductions } from '../../daemon/trainer/sharing/introductions.ts'
import type { Group } from '../../protocol/train/index.ts'
import { group } from './groups.ts'

function setUp() {
  const known = new Set<string>()
  const met = new Map<string, number>()
  let scored = 0
  const mix = createPromptMix()
  const introductions = createIntroductions(
    { temperature: 1 },
    {
      mix,
      isUnknown: (author) => !known.has(author),
      scorable: (groups) => [...groups],
      random: () => () => 0.5,
      onFinding() {},
      authors: {
        addTokens(author) {
          met.set(author, (met.get(author) ?? 0) + 1)
          return []
        },
      },
      engine: {
        async score({ sequences }: ScoreRequest) {
          return sequences.map(({ conditioning, completion }) => {
            scored += conditioning.length + completion.length
            const zeros = new Float32Array(completion.length)
            const pit = { above: zeros, ties: zeros }
            return { logprobs: zeros, entropies: zeros, collisions: zeros, pit }
          })
        },
      },
    },
  )
  const own = (): Group => group([0, 0, 0, 0], { author: 'me' })
  return {
    ...{ introductions, known, met },
    /** `count` own groups are generated. Returns their tokens. */
    generate(count: number): number {
      let tokens = 0
      for (let i = 0; i < count; i++) {
        const one = own()
        mix.add(one)
        introductions.earn(one)
        for (const { tokens: completion } of one.rollouts)
          tokens += one.conditioning.length + completion.length
      }
      return tokens
    },
    scored: () => scored,
  }
}

const by = (author: string, source: string, { rollouts = 4, tokens = 4 } = {}): Group => {
  const one = group(Array(rollouts).fill(0), { author })
  const grown = one.rollouts.map((rollout) => ({ ...rollout, tokens: new Int32Array(tokens) }))
  return { ...one, source, rollouts: grown }
}

test('the tokens that are scored are a quarter of those generated, however much waits', async () => {
  const { introductions, generate, scored } = setUp()
  let own = 0
  for (let step = 0; step < 40; step++) {
    for (let i = 0; i < 16; i++)
      introductions.add(by(`nobody ${step} ${i}`, 'stranger', { rollouts: 64, tokens: 96 }))
    own += generate(4)
    // The train loop asks each time that a group arrives.
    for (let i = 0; i < 5; i++) await introductions.scoreWaiting()
  }
  // It may overdraw by one rollout.
  expect(scored()).toBeLessThanOrEqual(own / 4 + 200)
  expect(scored()).toBeGreaterThan(own / 8)
})

test('whoever other peers deliver gets known beside a crowd that one peer delivers, and that came first', async () => {
  const { introductions, generate, met } = setUp()
  for (let i = 0; i < 1500; i++)
    introductions.add(by(`nobody ${i}`, 'stranger', { rollouts: 64, tokens: 96 }))
  for (const name of ['ada', 'bob', 'eve']) expect(introductions.add(by(name, name))).toBe(true)
  for (let step = 0; step < 4; step++) {
    generate(8)
    await introductions.scoreWaiting()
  }
  expect(['ada', 'bob', 'eve'].map((name) => met.get(name))).toEqual([1, 1, 1])
})

test('a peer that delivers many displaces its own groups only', async () => {
  const { introductions, generate, met } = setUp()
  introductions.add(by('ada', 'ada'))
  for (let i = 0; i < 200; i++) introductions.add(by(`nobody ${i}`, 'stranger'))
  generate(64)
  await introductions.scoreWaiting()
  expect(met.get('ada')).toBe(1)
})

test('without own groups nothing is scored, and what waits is scored once there are some', async () => {
  const { introductions, generate, met, scored } = setUp()
  introductions.add(by('ada', 'ada'))
  await introductions.scoreWaiting()
  expect(scored()).toBe(0)
  generate(16)
  await introductions.scoreWaiting()
  expect(met.get('ada')).toBe(1)
})
