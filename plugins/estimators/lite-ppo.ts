// Lite PPO: reward minus the group's mean, over the standard deviation of the whole batch.
//
// Liu et al. 2025 (Tricks or Traps?). The deviation is taken over the batch's rewards, so easy and hard prompts are
// not scaled up for being lopsided; epsilon 1e-5 is AReaL's. A batch of equal rewards gets zeros.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { isScored, limitSetting, mean, perGroup, std, stdSetting } from './groups.ts'

const settings = z.strictObject({
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-5),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default definePlugin({
  name: 'lite_ppo',
  kind: 'estimator',
  api: 1,
  summary: 'Reward minus group mean, over batch standard deviation.',
  settings,
  create: ({ std: kind, epsilon, floor, limit }) => ({
    advantage(groups) {
      const all = groups.flatMap(({ rollouts }) => rollouts.filter(isScored).map(({ reward }) => reward))
      const scale = Math.max(std(all, kind), floor) + epsilon
      return perGroup(groups, { limit }, (rewards) => {
        const centre = mean(rewards)
        return rewards.map((reward) => (reward - centre) / scale)
      })
    },
  }),
})
