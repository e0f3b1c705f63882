// Dr. GRPO: reward minus the group's mean, without dividing by the deviation.
//
// Liu et al. 2025 (Understanding R1-Zero-Like Training): dividing by the deviation favours prompts that are
// almost always or almost never solved. The method also divides token losses by a constant instead of each
// row's length; for that, set training.aggregation = "fixed_length". The default, a mean over all tokens,
// differs from it only by a factor common to the whole batch.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup } from '../shared/groups.ts'

export default defineEstimator({
  name: 'dr_grpo',
  summary: 'Reward minus group mean.',
  settings: z.strictObject({ limit: limitSetting }),
  create: ({ limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const centre = mean(rewards)
        return rewards.map((reward) => reward - centre)
      }),
  }),
})
