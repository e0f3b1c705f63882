// REINFORCE++ with a group baseline: reward minus the group's mean, whitened over all tokens of the batch.
//
// Hu 2025, the variant for several rollouts per prompt, in verl's form: token-weighted, with Bessel's
// correction and 1e-8 under the root. If rows differ in length, the batch's mean is not 0, so a group of
// equal rewards does not get 0. Single rollouts enter as 0; their raw reward would dominate the batch's scale.

import { z } from 'zod'
import { writtenLength } from '../../../protocol/train/index.ts'
import { defineEstimator, LEARNS_FROM_TIES } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup, whiten } from '../shared/groups.ts'

const settings = z.strictObject({
  epsilon: z.number().positive().default(1e-8),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'reinforce_plus_plus_baseline',
  summary: 'Reward minus group mean, whitened over the tokens of the batch.',
  settings,
  manifest: LEARNS_FROM_TIES,
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
