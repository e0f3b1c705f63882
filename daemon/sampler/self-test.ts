// Compares a sampler's log-probs with the trainer's, on tokens that the sampler drew. If they differ much, importance
// weights correct for a difference that should not exist, or cannot correct for it at all.

import { WaggleError } from '../../protocol/errors.ts'

export interface Mismatch {
  tokens: number
  /** Mean of |log p_sampler - log p_trainer|, nats. */
  meanDifference: number
  largestDifference: number
  /** Mean of log p_sampler - log p_trainer over tokens that the sampler drew: an estimate of the KL divergence. */
  kl: number
  /** Effective sample size of the truncated importance weights, as a share of the tokens. */
  effectiveSampleSize: number
}

/** As in `tis`. */
const TRUNCATION = 2

export function mismatchOf(sampler: readonly number[], trainer: readonly number[]): Mismatch {
  const tokens = sampler.length
  const differences = sampler.map((logprob, i) => logprob - trainer[i]!)
  const weights = differences.map((difference) => Math.min(TRUNCATION, Math.exp(-difference)))
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
  return {
    tokens,
    meanDifference: sum(differences.map(Math.abs)) / tokens,
    largestDifference: Math.max(...differences.map(Math.abs)),
    kl: sum(differences) / tokens,
    effectiveSampleSize: sum(weights) ** 2 / (tokens * sum(weights.map((weight) => weight ** 2))),
  }
}

export function mismatchText({ tokens, meanDifference, kl, effectiveSampleSize }: Mismatch): string {
  const share = (100 * effectiveSampleSize).toFixed(1)
  return `log-probs of sampler and trainer differ by ${meanDifference.toFixed(4)} on average over ${tokens} tokens (KL ${kl.toFixed(4)}, effective sample size ${share} %)`
}

export function refuseMismatch(found: Mismatch, tolerance: number, hint: string): void {
  // Written so that NaN is refused as well.
  if (found.meanDifference <= tolerance) return
  throw new WaggleError('E_SAMPLER', `${mismatchText(found)}; sampler.tolerance is ${tolerance}`, {
    hint,
    data: { ...found, tolerance },
  })
}

/** Questions for the comparison, in plain words, so that every model has something to say. */
export const PROBES = [
  'What is 17 + 25?',
  'Name three colours.',
  'Write one sentence about the sea.',
  'What comes after Tuesday?',
] as const
