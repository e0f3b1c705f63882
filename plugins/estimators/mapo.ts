// MAPO: mixes GRPO with the reward's distance from the mean over the mean, by how lopsided the group is.
//
// Mixed advantage policy optimization (arXiv 2509.18849): p the group's mean reward, lambda = 1 - 4 p (1 - p),
// A = (1 - lambda) (r - p) / std + lambda (r - p) / p. Where nearly all are right or wrong, the percentage takes over from
// the deviation. For rewards in [0, 1], which they are clamped to; another method of the same name is about dialogues.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting, mean, perGroup, std, stdSetting } from './groups.ts'

const settings = z.strictObject({
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default definePlugin({
  name: 'mapo',
  kind: 'estimator',
  api: 1,
  summary: 'Mixes deviation and percentage by how lopsided the group is.',
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
