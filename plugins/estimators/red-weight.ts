// RED-Weight: centred rewards, each weighed by its own exponential, so that the good rollouts teach most.
//
// Yao et al. 2025 (Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm), the data-weighting half of its
// advice; temperature 1 is Trinity-RFT's. Meant for the plain `reinforce` loss, on rollouts of any policy.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting, mean, perGroup } from './groups.ts'

const settings = z.strictObject({ temperature: z.number().positive().default(1), limit: limitSetting })

export default definePlugin({
  name: 'red_weight',
  kind: 'estimator',
  api: 1,
  summary: 'Centred rewards, weighed by their own exponential.',
  settings,
  create: ({ temperature, limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const centre = mean(rewards)
        return rewards.map((reward) => (reward - centre) * Math.exp((reward - centre) / temperature))
      }),
  }),
})
