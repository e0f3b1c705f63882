import { expect, test } from 'vitest'
import type { Sampling } from '../../daemon/engine/engine.ts'
import { leastWeight } from '../../daemon/engine/sampling/cutoff.ts'
import { draw } from '../../daemon/engine/sampling/draw.ts'
import { uniform } from './model.ts'

const PROBABILITIES = [0.4, 0.3, 0.15, 0.1, 0.05]
const LOGITS = Float32Array.from([...PROBABILITIES].reverse(), Math.log)
const work = new Float64Array(LOGITS.length)

/** Probability of each token, by drawing at 10 000 evenly spaced points. Tokens are in rising order of probability. */
function shares(sampling: Sampling): number[] {
  const counts = new Array(LOGITS.length).fill(0)
  for (let i = 0; i < 10_000; i++) counts[draw(LOGITS, sampling, (i + 0.5) / 10_000, work).token] += 1
  return counts.map((count) => count / 10_000).reverse()
}

const near = (actual: number[], expected: number[]): void => {
  actual.forEach((share, i) => {
    expect(share).toBeCloseTo(expected[i]!, 3)
  })
}

test('draws in proportion to the probabilities', () => near(shares({ temperature: 1 }), PROBABILITIES))

test('temperature sharpens', () => {
  const squares = PROBABILITIES.map((p) => p * p)
  const total = squares.reduce((a, b) => a + b, 0)
  near(
    shares({ temperature: 0.5 }),
    squares.map((p) => p / total),
  )
})

test.each<[string, Partial<Sampling>, number[]]>([
  ['top-k', { topK: 2 }, [4 / 7, 3 / 7, 0, 0, 0]],
  ['top-k beyond the vocabulary', { topK: 99 }, PROBABILITIES],
  ['top-p keeps the smallest set that reaches the share', { topP: 0.7 }, [4 / 7, 3 / 7, 0, 0, 0]],
  ['top-p just above it takes one more', { topP: 0.71 }, [0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0]],
  ['top-p of almost nothing keeps the most likely', { topP: 1e-9 }, [1, 0, 0, 0, 0]],
  ['min-p', { minP: 0.3 }, [0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0]],
  ['all of them', { topK: 4, topP: 0.9, minP: 0.5 }, [4 / 7, 3 / 7, 0, 0, 0]],
])('%s', (_, cut, expected) => near(shares({ temperature: 1, ...cut }), expected))

test.each([
  ['flat', 0.01],
  ['like a model', 3],
  ['peaked', 40],
])('the limit is the one that sorting finds, in a large vocabulary: %s', (_, spread) => {
  const random = uniform(3)
  // Some tokens tie, and some cannot be drawn.
  const weights = Float64Array.from({ length: 20_000 }, (_, i) =>
    i % 50 === 0 ? 0 : Math.exp(-spread * Math.fround(Math.round(random() * 5000) / 5000)),
  )
  weights[7] = 1
  const sorted = weights.slice().sort().reverse()
  const bySorting = (topK: number, topP: number): number => {
    const kept = sorted.subarray(0, topK)
    const mass = kept.reduce((a, b) => a + b, 0)
    let last = 0
    for (let sum = kept[0]!; sum < topP * mass; sum += kept[last]!) last += 1
    return Math.max(kept.at(-1)!, kept[last]!)
  }
  for (const topK of [1, 2, 20, 1000, 19_000]) {
    expect(leastWeight(weights, { temperature: 1, topK })).toBe(sorted[topK - 1])
    for (const topP of [1e-9, 0.1, 0.5, 0.8, 0.95, 0.999])
      expect(leastWeight(weights, { temperature: 1, topK, topP }), `${topK} ${topP}`).toBe(
        bySorting(topK, topP),
      )
  }
})

test('log-prob and entropy are of the distribution that was drawn from', () => {
  const drawn = draw(LOGITS, { temperature: 1, topK: 2 }, 0.999, work)
  expect(drawn.token).toBe(4)
  expect(drawn.logprob).toBeCloseTo(Math.log(4 / 7), 6)
  expect(drawn.policyLogprob).toBeCloseTo(Math.log(0.4), 6)
  expect(drawn.entropy).toBeCloseTo(-(4 / 7) * Math.log(4 / 7) - (3 / 7) * Math.log(3 / 7), 6)
})

test('a token of no probability is never drawn, at either end of the range', () => {
  const logits = Float32Array.of(Number.NEGATIVE_INFINITY, 0, 1, Number.NEGATIVE_INFINITY)
  expect(draw(logits, { temperature: 1 }, 0, work).token).toBe(1)
  expect(draw(logits, { temperature: 1 }, 1 - 2 ** -53, work).token).toBe(2)
})
