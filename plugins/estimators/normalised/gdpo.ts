// GDPO: normalises each named part of the reward within the group, then adds the parts.
//
// NVIDIA 2026 (Group reward-Decoupled normalisation Policy Optimization): GRPO on a sum of rewards cannot
// tell (0, 1) from (1, 0) beside (0, 2); normalising each part can. The default is TRL's form: each part is
// divided by its deviation plus 1e-4, missing parts are left out, and the sum becomes a z-score over the
// batch's rows, again with the deviation plus 1e-4. With `batch = "tokens"` the second step is verl's: it
// counts tokens and divides by the root of the variance plus 1e-8 (verl's `epsilon` is 1e-6). A rollout
// without parts has its whole reward as its only part, `reward`. Rollouts of equal reward can differ in their
// parts, so the method also learns from groups of equal rewards.

import { z } from 'zod'
import { type Rollout, writtenLength } from '../../../protocol/train/index.ts'
import { defineEstimator, LEARNS_FROM_TIES } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup, std, whiten } from '../shared/groups.ts'

const settings = z.strictObject({
  /** Weight per part, by name; 1 if not given. */
  weights: z.record(z.string(), z.number()).default({}),
  /** Added to the deviation of a part within the group. */
  epsilon: z.number().positive().default(1e-4),
  batch: z.enum(['rows', 'tokens', 'off']).default('rows'),
  /** Added to the batch's deviation (rows) or variance (tokens). Default: 1e-4 and 1e-8. */
  batchEpsilon: z.number().positive().optional(),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'gdpo',
  summary: 'Normalises each part of the reward separately, then adds them.',
  settings,
  manifest: LEARNS_FROM_TIES,
  create: ({ weights, epsilon, batch, batchEpsilon, limit }) => ({
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
      return batch === 'tokens'
        ? whiten(groups, summed, { weight: writtenLength, epsilon: batchEpsilon ?? 1e-8, limit })
        : whiten(groups, summed, { weight: () => 1, epsilon: batchEpsilon ?? 1e-4, onDeviation: true, limit })
    },
  }),
})

function partsOf({ reward, rewardParts }: Rollout): Record<string, number> {
  return rewardParts ?? { reward }
}
