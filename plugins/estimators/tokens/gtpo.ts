// GTPO: protects tokens that good and bad rollouts of a group share, and favours low entropy.
//
// Group-relative trajectory-based policy optimization, after its released code. A conflict token is the same
// token at the same position in a rollout with a positive and one with a negative advantage, within an
// unbroken run of such tokens from the start or, counted backwards, from the end. Negative rollouts do not
// push conflict tokens down; positive ones push them up twice as hard, or four times where both runs overlap.
// Positions count the policy's own tokens; an environment's tokens are never in conflict. 0.1 times the mean
// entropy is subtracted, even from an advantage of 0, and rollouts above 0.7 nats are left out. The code's
// row-wise scaling of the loss by length and conflicts is omitted, since the trainer averages over tokens.
// Groups of equal rewards get zeros.

import { z } from 'zod'
import { isZeroSignal, type Rollout, writtenOf, writtenPositions } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting, mean, perGroup, std } from '../shared/groups.ts'

const settings = z.strictObject({
  entropyWeight: z.number().nonnegative().default(0.1),
  entropyBound: z.number().positive().default(0.7),
  epsilon: z.number().nonnegative().default(1e-4),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'gtpo',
  summary: 'GRPO that spares tokens which good and bad rollouts share.',
  settings,
  create: ({ entropyWeight, entropyBound, epsilon, floor, limit }) => ({
    advantage(groups) {
      const scores = perGroup(groups, { limit }, (rewards) => {
        const [centre, scale] = [mean(rewards), Math.max(std(rewards), floor) + epsilon]
        return rewards.map((reward) => (reward - centre) / scale)
      })
      return groups.map(({ rollouts }, g) => {
        const factors = conflictFactors(rollouts, scores[g]!)
        const scored = rollouts.filter(isScored)
        if (scored.length < 2 || isZeroSignal(scored.map(({ reward }) => reward)))
          return rollouts.map(() => 0)
        return rollouts.map((rollout, i) => {
          if (!isScored(rollout)) return 0
          const score = scores[g]![i]!
          const { entropies } = rollout
          const entropy = mean(Array.from(entropies ? writtenOf(entropies, rollout) : []))
          const shaped = entropy > entropyBound ? 0 : score - entropyWeight * entropy
          return Float32Array.from(factors[i]!, (factor) => bounded(factor * shaped, limit))
        })
      })
    },
  }),
})

/** A factor per rollout and token: 1, or for conflict tokens 0 in negative rollouts and 2 or 4 in positive ones. */
export function conflictFactors(rollouts: readonly Rollout[], scores: readonly number[]): number[][] {
  const factors = rollouts.map(({ tokens }) => Array<number>(tokens.length).fill(1))
  for (const fromEnd of [false, true]) {
    const positions = rollouts.map((rollout) =>
      fromEnd ? writtenPositions(rollout).reverse() : writtenPositions(rollout),
    )
    const tokenAt = (i: number, index: number): number | undefined =>
      rollouts[i]!.tokens[positions[i]![index]!]
    for (let i = 0; i < rollouts.length; i++) {
      if (scores[i] === 0) continue
      for (const [index, at] of positions[i]!.entries()) {
        const opposed = rollouts.some(
          (_, j) => scores[i]! * scores[j]! < 0 && tokenAt(i, index) === tokenAt(j, index),
        )
        if (!opposed) break
        factors[i]![at]! *= scores[i]! > 0 ? 2 : 0
      }
    }
  }
  return factors
}
