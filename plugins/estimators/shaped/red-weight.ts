// RED-Weight: centred rewards, each multiplied by its own exponential, so that the best rollouts weigh most.
//
// Yao et al. 2025 (Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm), the data-weighting half of
// its advice. Temperature 1 is Trinity-RFT's. Use it with the plain `reinforce` loss, on rollouts of any
// policy.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup } from '../shared/groups.ts'

const settings = z.strictObject({ temperature: z.number().positive().default(1), limit: limitSetting })

export default defineEstimator({
  name: 'red_weight',
  summary: 'Centred rewards, each weighted by its own exponential.',
  settings,
  create: ({ temperature, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const centre = mean(rewards)
        return rewards.map((reward) => (reward - centre) * Math.exp((reward - centre) / temperature))
      }),
  }),
})
