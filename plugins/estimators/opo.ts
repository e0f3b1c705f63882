// OPO: reward minus the group's length-weighted mean reward, the baseline of least variance for on-policy gradients.
//
// Hao et al. 2025 (On-Policy RL with Optimal reward baseline): under the assumption that a token's gradient does not
// depend on where it stands, the optimal baseline weighs each reward by its answer's length. A group without any
// tokens gets zeros.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { writtenLength } from '../../protocol/train/index.ts'
import { limitSetting, perGroup } from './groups.ts'

export default definePlugin({
  name: 'opo',
  kind: 'estimator',
  api: 1,
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
