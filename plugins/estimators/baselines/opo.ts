// OPO: reward minus the group's length-weighted mean reward, the minimum-variance baseline for on-policy
// gradients.
//
// Hao et al. 2025 (On-Policy RL with Optimal reward baseline): if a token's gradient does not depend on its
// position, the optimal baseline weights each reward by the length of its answer. A group without tokens gets
// zeros.

import { z } from 'zod'
import { writtenLength } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, perGroup } from '../shared/groups.ts'

export default defineEstimator({
  name: 'opo',
  summary: 'Reward minus the length-weighted group mean.',
  settings: z.strictObject({ limit: limitSetting }),
  create: ({ limit }) => ({
    advantage: (groups) =>
      perGroup(groups, { limit }, (rewards, rollouts) => {
        const tokens = rollouts.reduce((sum, rollout) => sum + writtenLength(rollout), 0)
        if (tokens === 0) return rewards.map(() => 0)
        const weighted = rewards.reduce((sum, reward, i) => sum + reward * writtenLength(rollouts[i]!), 0)
        return rewards.map((reward) => reward - weighted / tokens)
      }),
  }),
})
