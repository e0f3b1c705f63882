// Pass@k as best minus second best: only the group's best rollout gets an advantage, its lead over the next.
//
// The leave-one-out gradient of the group's maximum (Walder and Karkhanis 2025; Tang et al. 2025): removing
// any other rollout leaves the maximum unchanged. In verl's form, optionally divided by the group's deviation. If
// several rollouts tie for the best, the lead is 0.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, perGroup, std, stdSetting } from '../shared/groups.ts'

const settings = z.strictObject({
  divide: z.boolean().default(true),
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-6),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'pass_at_k',
  summary: 'Only the best of the group gets an advantage: its lead over the second.',
  settings,
  create: ({ divide, std: kind, epsilon, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const [best, second] = [...rewards].sort((a, b) => b - a) as [number, number]
        const scale = divide ? std(rewards, kind) + epsilon : 1
        const leader = rewards.indexOf(best)
        return rewards.map((_, i) => (i === leader ? (best - second) / scale : 0))
      }),
  }),
})
