// NGRPO: GRPO with virtual rollouts of the highest reward added to every group, so that all-wrong groups get
// negative advantages.
//
// Nan et al. 2025 (Negative-enhanced GRPO), with the released code's one virtual rollout, highest reward 1,
// sample deviation and 1e-6. Only all-right groups get zeros. The paper's loss clips at 0.16 and 0.24, which are
// settings of `clip`. Rewards above the highest are capped to it. A single rollout gets 0, where the code
// returns its raw reward.

import { z } from 'zod'
import { defineEstimator, LEARNS_FROM_TIES } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup, std } from '../shared/groups.ts'

const settings = z.strictObject({
  virtual: z.int().positive().default(1),
  highest: z.number().default(1),
  epsilon: z.number().nonnegative().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'ngrpo',
  summary: 'GRPO with a virtual success in every group; learns from all-wrong groups.',
  settings,
  manifest: LEARNS_FROM_TIES,
  create: ({ virtual, highest, epsilon, floor, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit, seesZeroSignal: true }, (given) => {
        const rewards = given.map((reward) => Math.min(reward, highest))
        const widened = [...rewards, ...Array<number>(virtual).fill(highest)]
        const centre = mean(widened)
        const scale = Math.max(std(widened), floor) + epsilon
        return rewards.map((reward) => (reward - centre) / scale)
      }),
  }),
})
