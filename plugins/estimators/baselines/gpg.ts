// GPG: reward minus the group's mean, scaled up when few rollouts of the batch earned a reward.
//
// Chu et al. 2025 (Group Policy Gradient): the scale is alpha = rows / rows with a reward, so that a batch of
// mostly wrong answers keeps the scale of its gradient. A fixed norm replaces the deviation. Use it with the
// plain `reinforce` loss.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, perGroup } from '../shared/groups.ts'

const settings = z.strictObject({
  /** The constant that replaces GRPO's deviation. */
  norm: z.number().positive().default(1),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'gpg',
  summary: 'Reward minus group mean, scaled up when few rollouts earn a reward.',
  settings,
  create: ({ norm, limit }) => ({
    advantage(groups) {
      const rows = groups.flatMap(({ rollouts }) => rollouts.filter(isScored))
      const rewarded = rows.filter(({ reward }) => reward !== 0).length
      const alpha = rows.length / Math.max(rewarded, 1)
      return perGroup(groups, { limit }, (rewards) => {
        const centre = mean(rewards)
        return rewards.map((reward) => (alpha * (reward - centre)) / norm)
      })
    },
  }),
})
