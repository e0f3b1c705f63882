// RLOO: reward minus the mean reward of the group's other rollouts.
//
// Kool et al. 2019; Ahmadian et al. 2024 (Back to Basics). Equal to G / (G - 1) times the centred reward. A
// single rollout has no baseline and gets 0, as in verl's vectorised form (verl's loop gives the raw reward).

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, perGroup } from '../shared/groups.ts'

export default defineEstimator({
  name: 'rloo',
  summary: 'Reward minus the mean of the others in the group.',
  settings: z.strictObject({ limit: limitSetting }),
  create: ({ limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards) => {
        const total = rewards.reduce((sum, reward) => sum + reward, 0)
        return rewards.map((reward) => reward - (total - reward) / (rewards.length - 1))
      }),
  }),
})
