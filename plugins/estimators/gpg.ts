// GPG: reward minus the group's mean, scaled up by how few rollouts of the batch earned anything.
//
// Chu et al. 2025 (Group Policy Gradient): alpha = rows / rows with a reward, so that a batch of mostly wrong answers
// does not fade out; a fixed norm in place of the deviation. Meant for the plain `reinforce` loss, without ratios.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { isScored, limitSetting, mean, perGroup } from './groups.ts'

const settings = z.strictObject({
  /** The constant that stands where GRPO has the deviation. */
  norm: z.number().positive().default(1),
  limit: limitSetting,
})

export default definePlugin({
  name: 'gpg',
  kind: 'estimator',
  api: 1,
  summary: 'Reward minus group mean, scaled by the share of rewarded rows.',
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
