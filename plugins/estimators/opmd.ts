// OPMD: the group-relative advantage of online policy mirror descent, with temperature tau.
//
// As in Trinity-RFT: reward minus the group's mean, or minus the soft maximum tau log mean exp(r / tau) that the exact
// solution has, both over 1 + tau. Without ratios; meant for the plain `reinforce` loss.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting, mean, perGroup } from './groups.ts'

const settings = z.strictObject({
  tau: z.number().positive().default(1),
  baseline: z.enum(['mean', 'soft-max']).default('mean'),
  limit: limitSetting,
})

export default definePlugin({
  name: 'opmd',
  kind: 'estimator',
  api: 1,
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
  // The largest is taken out first, so that no exponential overflows.
  const top = Math.max(...rewards)
  return top + tau * Math.log(mean(rewards.map((reward) => Math.exp((reward - top) / tau))))
}
