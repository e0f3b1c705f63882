// GTPO: spares tokens that good and bad rollouts of a group have in common, and favours certainty.
//
// Group-relative trajectory-based policy optimization, after its released code. Conflict tokens: the same token at the
// same place, counted from the start and from the end, in an unbroken run from there, in a rollout with a positive
// and one with a negative advantage. Negative rollouts do not push them down; positive ones push twice, four times
// where both runs meet. 0.1 of the mean entropy is taken off, and rollouts above 0.7 nats are left out. The code's
// row-wise scaling of the loss by length and conflicts is not here: the trainer takes means over tokens.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { type Rollout, writtenOf } from '../../protocol/train/index.ts'
import { bounded, limitSetting, mean, perGroup, std } from './groups.ts'

const settings = z.strictObject({
  entropyWeight: z.number().nonnegative().default(0.1),
  entropyBound: z.number().positive().default(0.7),
  epsilon: z.number().nonnegative().default(1e-4),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default definePlugin({
  name: 'gtpo',
  kind: 'estimator',
  api: 1,
  summary: 'GRPO that spares tokens shared by good and bad rollouts.',
  settings,
  create: ({ entropyWeight, entropyBound, epsilon, floor, limit }) => ({
    advantage(groups) {
      const scores = perGroup(groups, { limit }, (rewards) => {
        const [centre, scale] = [mean(rewards), Math.max(std(rewards), floor) + epsilon]
        return rewards.map((reward) => (reward - centre) / scale)
      })
      return groups.map(({ rollouts }, g) => {
        const factors = conflictFactors(rollouts, scores[g]!)
        return rollouts.map((rollout, i) => {
          const score = scores[g]![i]!
          const { entropies } = rollout
          const entropy = mean(Array.from(entropies ? writtenOf(entropies, rollout) : []))
          const shaped = score === 0 || entropy > entropyBound ? 0 : score - entropyWeight * entropy
          return Float32Array.from(factors[i]!, (factor) => bounded(factor * shaped, limit))
        })
      })
    },
  }),
})

/** Per rollout and token: 1, or in conflict 0 for negative rollouts, 2 or 4 for positive ones. */
export function conflictFactors(rollouts: readonly Rollout[], scores: readonly number[]): number[][] {
  const factors = rollouts.map(({ tokens }) => Array<number>(tokens.length).fill(1))
  for (const fromEnd of [false, true]) {
    const tokenAt = (i: number, place: number): number | undefined =>
      rollouts[i]!.tokens.at(fromEnd ? -1 - place : place)
    const length = (i: number): number => rollouts[i]!.tokens.length
    for (let i = 0; i < rollouts.length; i++) {
      if (scores[i] === 0) continue
      for (let place = 0; place < length(i); place++) {
        const opposed = rollouts.some(
          (_, j) =>
            scores[i]! * scores[j]! < 0 && place < length(j) && tokenAt(i, place) === tokenAt(j, place),
        )
        if (!opposed) break
        const at = fromEnd ? length(i) - 1 - place : place
        factors[i]![at]! *= scores[i]! > 0 ? 2 : 0
      }
    }
  }
  return factors
}
