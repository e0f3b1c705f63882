// GPG: reward minus the group's mean, scaled up by the part of the batch that teaches nothing.
//
// Chu et al. 2025 (Group Policy Gradient, arXiv 2504.02546), equations 6 and 7: a group that is all right or all wrong
// has no gradient, but counts in the batch's mean. With M such rows of B, alpha = B / (B - M) makes it the mean of the
// others. A constant replaces the deviation. (verl's port divides by the rows with a reward instead.) A node trains on
// such groups only where a plugin asks for them. Without them alpha is 1.
//
// Differs from the paper in two ways: a group that would exceed the limit is scaled down as a whole, so that its
// advantages still sum to zero, and a batch is never put off until more of it teaches (the paper's threshold).
// Use it with the plain `reinforce` loss.

import { z } from 'zod'
import { isZeroSignal } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, perGroup } from '../shared/groups.ts'

const settings = z.strictObject({
  /** The constant that replaces GRPO's deviation. */
  norm: z.number().positive().default(1),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'gpg',
  summary: 'Reward minus group mean, scaled up by how many groups are all right or all wrong.',
  settings,
  create: ({ norm, limit }) => ({
    advantage(groups) {
      const scored = groups.map(({ rollouts }) => rollouts.filter(isScored).map(({ reward }) => reward))
      const teaching = scored.filter((rewards) => !isZeroSignal(rewards))
      const alpha = scored.flat().length / Math.max(teaching.flat().length, 1)
      return perGroup(groups, { limit }, (rewards) => {
        const centre = mean(rewards)
        const largest = Math.max(...rewards.map((reward) => Math.abs(reward - centre)))
        const scale = Math.min(alpha / norm, limit / largest)
        return rewards.map((reward) => scale * (reward - centre))
      })
    },
  }),
})
