// Dr. GRPO: reward minus the group's mean, and nothing else.
//
// Liu et al. 2025 (Understanding R1-Zero-Like Training): dividing by the deviation favours prompts that are nearly
// always or nearly never solved. The other half of the method, token losses over a constant in place of each row's
// length, is training.aggregation = "fixed_length"; the default mean over all tokens differs from it by a factor common to the batch.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting, mean, perGroup } from './groups.ts'

export default definePlugin({
  name: 'dr_grpo',
  kind: 'estimator',
  api: 1,
  summary: 'Reward minus group mean, undivided.',
  settings: z.strictObject({ limit: limitSetting }),
  create: ({ limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const centre = mean(rewards)
        return rewards.map((reward) => reward - centre)
      }),
  }),
})
