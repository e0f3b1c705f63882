// OPMD: the group-relative advantage of online policy mirror descent, with temperature tau.
//
// As in Trinity-RFT: reward minus the group's mean, or minus the exact solution's soft maximum tau log mean
// exp(r / tau), both divided by 1 + tau. It needs no importance ratios; use it with the plain `reinforce` loss.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup } from '../shared/groups.ts'

const settings = z.strictObject({
  tau: z.number().positive().default(1),
  baseline: z.enum(['mean', 'soft-max']).default('mean'),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'opmd',
  summary: 'Mirror descent: reward minus group mean or soft maximum, damped.',
  settings,
  create: ({ tau, baseline, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const centre = baseline === 'mean' ? mean(rewards) : softMax(rewards, tau)
        return rewards.map((reward) => (reward - centre) / (1 + tau))
      }),
  }),
})

function softMax(rewards: readonly number[], tau: number): number {
  // Subtracting the maximum keeps the exponentials from overflowing.
  const top = Math.max(...rewards)
  return top + tau * Math.log(mean(rewards.map((reward) => Math.exp((reward - top) / tau))))
}
