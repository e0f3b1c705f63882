// Shares with confidence intervals, and pass@k: the statistics of an evaluation. Pure.
//
// Intervals are Wilson's (1927) at 95 %, on the effective number of prompts: p (1 - p) over the variance of the mean,
// which is the number itself for one right-or-wrong answer a prompt, and less or more where a prompt has a score in
// between from several answers (Kish's design effect, the prompts being the clusters). Unlike a bootstrap, it stays
// honest where every prompt scored the same. Tasks are strata: their means count equally, whatever their sizes.

import type { Estimate } from '../../protocol/api/index.ts'

/** 97.5 % quantile of the standard normal distribution. */
const Z = 1.959964

/** Mean over strata of the mean over prompts. Each value is one prompt's, 0 to 1; no stratum is empty. */
export function shareOf(...strata: readonly (readonly number[])[]): Estimate {
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
  return wilson(value, variance > 1e-12 && binomial > 0 ? binomial / variance : prompts)
}

function wilson(p: number, n: number): Estimate {
  const centre = (p + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n)
  const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + Z ** 2 / (4 * n ** 2))
  return {
    value: p,
    low: Math.max(0, Math.min(p, centre - half)),
    high: Math.min(1, Math.max(p, centre + half)),
  }
}

/**
 * Unbiased estimate, from `n` answers of which `right` are right, of the chance that at least one of `k` is (Chen et al.
 * 2021): 1 - C(n - right, k) / C(n, k), as a product that cannot overflow. `k` is at most `n`.
 */
export function passAt(k: number, n: number, right: number): number {
  if (k > n) throw new RangeError(`pass@${k} cannot be told from ${n} answers`)
  if (n - right < k) return 1
  let allWrong = 1
  for (let i = n - right + 1; i <= n; i++) allWrong *= 1 - k / i
  return 1 - allWrong
}

/** 1, 2, 4 ... up to `samples`. */
export function kValues(samples: number): number[] {
  const values = []
  for (let k = 1; k <= samples; k *= 2) values.push(k)
  return values
}
