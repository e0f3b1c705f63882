// AsymRE: reward minus a baseline below the group's mean, for learning from other policies' rollouts.
//
// Arnal et al. 2025 (Asymmetric REINFORCE for off-policy RL), with Trinity-RFT's shift of -0.1. With a
// baseline below the mean, successes weigh more than failures, which makes off-policy learning safe without
// importance ratios. Use it with the plain `reinforce` loss. In groups of equal rewards each rollout gets -shift;
// a single rollout gets 0.

import { z } from 'zod'
import { defineEstimator, LEARNS_FROM_TIES } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup } from '../shared/groups.ts'

const settings = z.strictObject({ shift: z.number().default(-0.1), limit: limitSetting })

export default defineEstimator({
  name: 'asymre',
  summary: 'Reward minus a baseline shifted below the group mean.',
  settings,
  manifest: LEARNS_FROM_TIES,
  create: ({ shift, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit, seesZeroSignal: true }, (rewards) => {
        const baseline = mean(rewards) + shift
        return rewards.map((reward) => reward - baseline)
      }),
  }),
})
