// GDPO: each named part of the reward is normalised inside the group by itself, then the parts are added.
//
// NVIDIA 2026 (Group reward-Decoupled normalisation Policy Optimization): GRPO on a sum of rewards cannot tell (0, 1)
// from (1, 0) beside (0, 2); part by part it can. TRL's form: 1e-4, missing parts left out, then a z-score over the
// batch's rows; verl weighs that by tokens. Rollouts without parts count their whole reward as one part, `reward`.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { type Rollout, writtenLength } from '../../protocol/train/index.ts'
import { limitSetting, mean, perGroup, std, whiten } from './groups.ts'

const settings = z.strictObject({
  /** Weight of a part by its name; 1 where it is not given. */
  weights: z.record(z.string(), z.number()).default({}),
  epsilon: z.number().positive().default(1e-4),
  batch: z.enum(['rows', 'tokens', 'off']).default('rows'),
  limit: limitSetting,
})

export default definePlugin({
  name: 'gdpo',
  kind: 'estimator',
  api: 1,
  summary: 'Normalises each part of the reward by itself, then adds them.',
  settings,
  create: ({ weights, epsilon, batch, limit }) => ({
    advantage(groups) {
      const rules = { limit: batch === 'off' ? limit : Number.MAX_VALUE, seesZeroSignal: true }
      const summed = perGroup(groups, rules, (_, rollouts) => {
        const totals = rollouts.map(() => 0)
        for (const name of new Set(rollouts.flatMap((rollout) => Object.keys(partsOf(rollout))))) {
          const values = rollouts.map((rollout) => partsOf(rollout)[name] ?? Number.NaN)
          const present = values.filter(Number.isFinite)
          const [centre, spread] = [mean(present), std(present)]
          for (const [i, value] of values.entries())
            if (Number.isFinite(value))
              totals[i]! += ((weights[name] ?? 1) * (value - centre)) / (spread + epsilon)
        }
        return totals
      })
      if (batch === 'off') return summed
      const weight = (rollout: Rollout): number => (batch === 'tokens' ? writtenLength(rollout) : 1)
      return whiten(groups, summed, { weight, epsilon: 1e-8, limit })
    },
  }),
})

function partsOf({ reward, rewardParts }: Rollout): Record<string, number> {
  return rewardParts ?? { reward }
}
