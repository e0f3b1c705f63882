// GRPO: reward minus the group's mean, divided by the group's standard deviation.
//
// Shao et al. 2024 (DeepSeekMath), section 4.1. The paper specifies neither ddof nor epsilon; the defaults,
// sample standard deviation and 1e-6, are verl's. Two guards are ours: groups whose rewards differ by less
// than 1e-6 get zeros, and the divisor is at least 1e-3, so that noise in the rewards is not amplified.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup, std, stdSetting } from '../shared/groups.ts'

const settings = z.strictObject({
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-6),
  /** Smallest deviation to divide by. */
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'grpo',
  summary: 'Reward minus group mean, divided by the group standard deviation.',
  settings,
  create: ({ std: kind, epsilon, floor, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const centre = mean(rewards)
        const scale = Math.max(std(rewards, kind), floor) + epsilon
        return rewards.map((reward) => (reward - centre) / scale)
      }),
  }),
})
