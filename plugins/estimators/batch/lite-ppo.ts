// Lite PPO: reward minus the group's mean, divided by the standard deviation over the whole batch.
//
// Liu et al. 2025 (Tricks or Traps?). Because the deviation is taken over the batch's rewards, very easy and
// very hard prompts are not scaled up. Epsilon 1e-5 is AReaL's. A batch of equal rewards gets zeros.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, perGroup, std, stdSetting } from '../shared/groups.ts'

const settings = z.strictObject({
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-5),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'lite_ppo',
  summary: 'Reward minus group mean, divided by the batch standard deviation.',
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
