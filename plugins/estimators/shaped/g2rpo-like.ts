// Like Gaussian GRPO (G2RPO): advantages by rank, spaced like the quantiles of a normal distribution.
//
// Reconstructed from the abstract: the rewards of a group are mapped onto N(0, 1) by optimal transport, so
// the rollout of rank j of G gets the quantile at (j - 1/2) / G. Equal rewards share the mean of their
// quantiles, so a group's sum stays 0. It is not known how the paper handles ties, and hence binary rewards.
// Only the order of rewards matters, not the size of their differences.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup } from '../shared/groups.ts'

export default defineEstimator({
  name: 'g2rpo_like',
  summary: 'Advantages by rank, as quantiles of a normal distribution.',
  settings: z.strictObject({ limit: limitSetting }),
  create: ({ limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const sorted = [...rewards].sort((a, b) => a - b)
        const quantiles = sorted.map((_, j) => normalQuantile((j + 0.5) / sorted.length))
        return rewards.map((reward) => mean(quantiles.filter((_, j) => sorted[j] === reward)))
      }),
  }),
})

/** Acklam's rational approximation; relative error at most 1.15e-9. */
export function normalQuantile(p: number): number {
  if (p > 0.5) return -normalQuantile(1 - p)
  if (p === 0.5) return 0
  const [of, over] = p < 0.02425 ? TAIL : MIDDLE
  const x = p < 0.02425 ? Math.sqrt(-2 * Math.log(p)) : (p - 0.5) ** 2
  const value = horner(of, x) / (horner(over, x) * x + 1)
  return p < 0.02425 ? value : (p - 0.5) * value
}

const horner = (coefficients: readonly number[], x: number): number =>
  coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0)

const MIDDLE = [
  [
    -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1,
    2.506628277459239,
  ],
  [
    -5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1,
    -1.328068155288572e1,
  ],
] as const
const TAIL = [
  [
    -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968,
    2.938163982698783,
  ],
  [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416],
] as const
