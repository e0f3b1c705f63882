// MC-GRPO: distance from the group's median, over the median absolute deviation.
//
// Median-centred GRPO, from its released code: lower middle of an even group, 1e-3 added. Ask for one rollout more
// than is to be trained: the one at the median gets 0. With rewards of 0 and 1 the deviation is 0 whenever one side
// has the majority, and the literal form then says +-1000; by default the standard deviation steps in.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting, median, perGroup, std } from './groups.ts'

const settings = z.strictObject({
  epsilon: z.number().nonnegative().default(1e-3),
  /** What divides where the median absolute deviation is 0. */
  fallback: z.enum(['std', 'none']).default('std'),
  /** Scales a group's numbers by its size over how many of them are not 0 (the code's trainer for GSM). */
  rescale: z.boolean().default(false),
  limit: limitSetting,
})

export default definePlugin({
  name: 'mc_grpo',
  kind: 'estimator',
  api: 1,
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
