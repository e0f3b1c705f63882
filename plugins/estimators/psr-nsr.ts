// PSR, NSR and W-REINFORCE: learn from right answers only, from wrong ones only, or from both with less
// weight on right ones.
//
// Zhu et al. 2025 (The Surprising Effectiveness of Negative Reinforcement in LLM Reasoning), after its
// released code: A = r for `positive`, r - 1 for `negative`, and for `weighted`, the default, 0.1 r where r
// is 1 and r - 1 elsewhere. It uses no baseline and no group, so it also learns from groups of equal rewards and
// from single rollouts. Rewards may range from 0 to 1; the paper has only 0 and 1. Rewards below `highest` count
// as wrong. Use a loss with its own clip, or `reinforce`.

import { z } from 'zod'
import { defineEstimator, LEARNS_FROM_TIES } from './shared/estimator.ts'
import { limitSetting, perGroup } from './shared/groups.ts'

const settings = z.strictObject({
  learn: z.enum(['positive', 'negative', 'weighted']).default('weighted'),
  /** Weight of right answers, for `weighted`. */
  positiveWeight: z.number().nonnegative().default(0.1),
  /** The reward of a right answer. */
  highest: z.number().default(1),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'psr_nsr',
  summary: 'Learns from right answers alone, from wrong ones alone, or weighs both.',
  settings,
  manifest: LEARNS_FROM_TIES,
  create: ({ learn, positiveWeight, highest, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit, fewest: 1, seesZeroSignal: true }, (rewards) =>
        rewards.map((reward) => {
          if (learn === 'positive') return reward
          if (learn === 'negative' || reward < highest) return reward - highest
          return positiveWeight * reward
        }),
      ),
  }),
})
