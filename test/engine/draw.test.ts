import { expect, test } from 'vitest'
import { draw } from '../../daemon/engine/draw.ts'
import type { Sampling } from '../../daemon/engine/engine.ts'

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
