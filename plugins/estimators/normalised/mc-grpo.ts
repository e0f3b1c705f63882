// MC-GRPO: distance from the group's median, divided by the median absolute deviation.
//
// Median-centred GRPO, after its released code: even groups use the lower median, and 1e-3 is added to the
// divisor. Configure one more rollout than should be trained on, since the one at the median gets 0. With rewards
// of 0 and 1 the median absolute deviation is 0 whenever one side has the majority, and the literal form gives
// +-1000; by default the standard deviation is then used instead.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, median, perGroup, std } from '../shared/groups.ts'

const settings = z.strictObject({
  epsilon: z.number().nonnegative().default(1e-3),
  /** The divisor if the median absolute deviation is 0. */
  fallback: z.enum(['std', 'none']).default('std'),
  /** Scales a group's advantages by its size / its number of non-zero advantages (the code's GSM trainer). */
  rescale: z.boolean().default(false),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'mc_grpo',
  summary: 'Distance from the group median, over the median deviation.',
  settings,
  create: ({ epsilon, fallback, rescale, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const centre = median(rewards)
        const spread = median(rewards.map((reward) => Math.abs(reward - centre)))
        const scale = (spread === 0 && fallback === 'std' ? std(rewards) : spread) + epsilon
        const values = rewards.map((reward) => (reward - centre) / scale)
        const active = values.filter((value) => value !== 0).length
        const factor = rescale ? rewards.length / Math.max(active, 1) : 1
        return values.map((value) => value * factor)
      }),
  }),
})
