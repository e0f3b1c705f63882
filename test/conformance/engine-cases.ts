// Models and batches that the engine suite and the comparison of engines share.

import { expect } from 'vitest'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import type { Engine, Sample, TrainRequest } from '../../daemon/engine/engine.ts'
import { column, min, mul, neg, ratio } from '../../protocol/plugin/expression/expression.ts'
import { ADAMW, randomTokens, uniform } from '../engine/model.ts'

export type EngineFactory = (options?: { microBatchTokens?: number }) => Promise<Engine>

/** Opens the engine under test on a small random model. */
export type Opener = (spec?: DecoderSpec) => Promise<void>

export const CLIPPED: TrainRequest['objective'] = {
  loss: neg(
    min(
      mul(ratio(column('logprob'), column('proximal')), column('advantage')),
      mul(1.2, column('advantage')),
    ),
  ),
  metrics: { entropy: column('entropy'), ratio: ratio(column('logprob'), column('proximal')) },
}

/** Groups of several completions a prompt, ragged in both. */
export function raggedGroups(spec: DecoderSpec, seed: number, sizes = [3, 2, 1]): TrainRequest['sequences'] {
  const random = uniform(seed)
  return sizes.flatMap((size, group) => {
    const conditioning = randomTokens(spec, 2 + group * 5, seed + group)
    return Array.from({ length: size }, (_, row) => {
      const completion = randomTokens(spec, 1 + ((row * 5 + group * 3) % 11), seed * 31 + group * 7 + row)
      return {
        conditioning,
        completion,
        columns: {
          advantage: random() * 2 - 1,
          proximal: Float32Array.from(completion, () => -3 + random()),
        },
      }
    })
  })
}

/** A token mean of the clipped loss. */
export function stepOf(sequences: TrainRequest['sequences']): TrainRequest {
  return {
    sequences,
    objective: CLIPPED,
    temperature: 1,
    denominator: sequences.reduce((total, { completion }) => total + completion.length, 0),
    optimizer: ADAMW,
  }
}

/** Largest difference of two lists of one length. */
export function furthest(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY
  let largest = 0
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!))
  return largest
}

/** The same sequence, but for the rounding of products with more or fewer rows. */
export function expectSame(sample: Sample, other: Sample): void {
  expect([...sample.tokens]).toEqual([...other.tokens])
  for (const name of ['logprobs', 'policyLogprobs', 'entropies'] as const)
    expect(furthest(sample[name], other[name]), name).toBeLessThan(1e-5)
  expect([sample.finish, sample.version]).toEqual([other.finish, other.version])
}
