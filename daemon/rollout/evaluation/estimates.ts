// The statistics of an evaluation: proportions with confidence intervals, pass@k and pass^k. Pure functions.
//
// Intervals are Wilson intervals (1927) at 95 %, on the effective number of prompts: p (1 - p) divided by the variance
// of the mean. With one right-or-wrong answer per prompt, that is the number of prompts. With several answers it
// corrects for clustering by prompt (Kish's design effect). Unlike a bootstrap interval, it does not collapse when all
// prompts score the same. Tasks are strata: their means count equally, whatever their sizes.

import { detectable, type Estimate, wilson } from '../../../protocol/api/index.ts'

type Strata = readonly (readonly number[])[]

/**
 * Mean over strata of the mean over prompts. Each value is one prompt's score, 0 to 1; no stratum may be
 * empty.
 */
export function shareOf(...strata: Strata): Estimate {
  const { value, prompts } = effectiveOf(strata)
  return wilson(value, prompts)
}

/** The difference between two such means that would be detected four times out of five. */
export function detectableIn(...strata: Strata): number {
  const { value, prompts } = effectiveOf(strata)
  return detectable(value, prompts)
}

/** The mean, and the effective number of prompts. */
function effectiveOf(strata: Strata): { value: number; prompts: number } {
  let value = 0
  let variance = 0
  let prompts = 0
  for (const values of strata) {
    const mean = values.reduce((a, b) => a + b, 0) / values.length
    const spread = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length
    value += mean / strata.length
    variance += spread / values.length / strata.length ** 2
    prompts += values.length
  }
  const binomial = value * (1 - value)
  return { value, prompts: variance > 1e-12 && binomial > 0 ? binomial / variance : prompts }
}

/**
 * The unbiased estimate of pass@k from `n` answers, `right` of them correct (Chen et al. 2021): the
 * probability that at least one of `k` is correct, 1 - C(n - right, k) / C(n, k), as a product that cannot
 * overflow. `k` is at most `n`.
 */
export function passAt(k: number, n: number, right: number): number {
  if (k > n) throw new RangeError(`pass@${k} needs at least ${k} answers, but there are ${n}`)
  if (n - right < k) return 1
  let allWrong = 1
  for (let i = n - right + 1; i <= n; i++) allWrong *= 1 - k / i
  return 1 - allWrong
}

/**
 * The unbiased estimate of pass^k (Yao et al. 2024, tau-bench): the probability that all of `k` answers are correct,
 * C(right, k) / C(n, k). `k` is at most `n`.
 */
export function passAll(k: number, n: number, right: number): number {
  return 1 - passAt(k, n, n - right)
}

/** Powers of two from 1 up to `samples`. */
export function kValues(samples: number): number[] {
  const values = []
  for (let k = 1; k <= samples; k *= 2) values.push(k)
  return values
}
