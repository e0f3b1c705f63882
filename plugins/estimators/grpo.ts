// GRPO: reward minus the group's mean, over the group's standard deviation.
//
// Shao et al. 2024 (DeepSeekMath), section 4.1. The paper names no ddof and no epsilon; the defaults, sample standard
// deviation and 1e-6, are verl's. Two guards that neither has: groups whose rewards differ by less than 1e-6 get zeros,
// and the deviation is never taken below 1e-3, so that noise in rewards cannot become a signal.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting, mean, perGroup, std, stdSetting } from './groups.ts'

const settings = z.strictObject({
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-6),
  /** Smallest deviation that is divided by. */
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default definePlugin({
  name: 'grpo',
  kind: 'estimator',
  api: 1,
  summary: 'Reward minus group mean, over group standard deviation.',
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
