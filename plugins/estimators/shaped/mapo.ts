// MAPO: mixes GRPO with the relative distance from the mean reward, depending on how one-sided the group is.
//
// Mixed advantage policy optimization (arXiv 2509.18849): p is the group's mean reward, lambda = 1 - 4 p (1 -
// p), A = (1 - lambda) (r - p) / std + lambda (r - p) / p. If nearly all rollouts are right or wrong, the
// relative distance replaces the deviation. Rewards are clamped to [0, 1]. Not to be confused with another method
// called MAPO, which is about dialogues.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup, std, stdSetting } from '../shared/groups.ts'

const settings = z.strictObject({
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'mapo',
  summary: 'Mixes GRPO and relative distance by how one-sided the group is.',
  settings,
  create: ({ std: kind, epsilon, floor, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (given) => {
        const rewards = given.map((reward) => Math.max(0, Math.min(1, reward)))
        const rate = mean(rewards)
        const lopsided = 1 - 4 * rate * (1 - rate)
        const scale = Math.max(std(rewards, kind), floor) + epsilon
        return rewards.map(
          (reward) =>
            ((1 - lopsided) * (reward - rate)) / scale + (lopsided * (reward - rate)) / (rate + epsilon),
        )
      }),
  }),
})
