// AsymRE: reward minus the group's mean with the baseline shifted, for learning from other policies' rollouts.
//
// Arnal et al. 2025 (Asymmetric REINFORCE for off-policy RL), with Trinity-RFT's shift of -0.1: a baseline below the
// mean makes successes weigh more than failures, which is what is safe off-policy without ratios. Meant for the
// plain `reinforce` loss. Groups of equal rewards get -shift each; a lone rollout gets 0.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting, mean, perGroup } from './groups.ts'

const settings = z.strictObject({ shift: z.number().default(-0.1), limit: limitSetting })

export default definePlugin({
  name: 'asymre',
  kind: 'estimator',
  api: 1,
  summary: 'Reward minus a baseline shifted below the group mean.',
  settings,
  create: ({ shift, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit, seesZeroSignal: true }, (rewards) => {
        const baseline = mean(rewards) + shift
        return rewards.map((reward) => reward - baseline)
      }),
  }),
})
