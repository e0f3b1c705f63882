// Pass@k as max minus second: only the group's best rollout learns, by how far it leads the next best.
//
// The leave-one-out gradient of the group's maximum (Walder and Karkhanis 2025; Tang et al. 2025): taking any other
// rollout away leaves the maximum as it is. verl's form, optionally over the group's deviation. A tie for the best
// leads by 0.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting, perGroup, std, stdSetting } from './groups.ts'

const settings = z.strictObject({
  divide: z.boolean().default(true),
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-6),
  limit: limitSetting,
})

export default definePlugin({
  name: 'pass_at_k',
  kind: 'estimator',
  api: 1,
  summary: 'Only the best of the group learns, by its lead over the second.',
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
