// REINFORCE++ with a group baseline: reward minus the group's mean, whitened over all tokens of the batch.
//
// Hu 2025, the variant for several rollouts a prompt; verl's form, token-weighted with Bessel's correction and 1e-8
// under the root. Rows of unequal length leave the batch's mean off 0, so a group of equal rewards does not get 0.
// Lone rollouts get the whitened 0 and not their raw reward, which would let them set the batch's scale.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { writtenLength } from '../../protocol/train/index.ts'
import { limitSetting, mean, perGroup, whiten } from './groups.ts'

const settings = z.strictObject({
  epsilon: z.number().positive().default(1e-8),
  limit: limitSetting,
})

export default definePlugin({
  name: 'reinforce_plus_plus_baseline',
  kind: 'estimator',
  api: 1,
  summary: 'Reward minus group mean, whitened over the tokens of the batch.',
  settings,
  create: ({ epsilon, limit }) => ({
    advantage(groups) {
      const centred = perGroup(groups, { limit: Number.MAX_VALUE }, (rewards) => {
        const centre = mean(rewards)
        return rewards.map((reward) => reward - centre)
      })
      return whiten(groups, centred, { weight: writtenLength, epsilon, limit })
    },
  }),
})
