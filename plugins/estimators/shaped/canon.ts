// CANON: splits a group into halves by entropy or length, and compares each rollout with the other half.
//
// Conditional advantage estimation, after its released code: sorted ascending, the first floor(G / 2) rollouts
// form the low half. The comparison with the other half has weight lambda, the one within a rollout's own half
// 1 - lambda; `anneal` sets lambda to the batch's mean reward. alpha and beta favour one half. Ties in the metric
// are broken by the text, so the order of rollouts does not matter. The code's division by a constant length
// belongs to its loss, which sums over tokens; ours averages.

import { z } from 'zod'
import { type Rollout, writtenLength, writtenOf } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, perGroup } from '../shared/groups.ts'

const settings = z.strictObject({
  metric: z.enum(['entropy', 'length']).default('entropy'),
  lambda: z.union([z.number().min(0).max(1), z.literal('anneal')]).default(1),
  alpha: z.number().default(1),
  beta: z.number().default(0),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'canon',
  summary: 'Compares the halves of a group that differ in entropy or length.',
  settings,
  create: ({ metric, lambda, alpha, beta, limit }) => ({
    advantage(groups) {
      const rewards = groups.flatMap(({ rollouts }) => rollouts.filter(isScored).map(({ reward }) => reward))
      const across = lambda === 'anneal' ? Math.max(0, Math.min(1, mean(rewards))) : lambda
      return perGroup(groups, { limit }, (rewards, rollouts) => {
        const order = rollouts
          .map((rollout, i) => ({ i, value: measure(rollout, metric), text: rollout.text }))
          .sort((a, b) => a.value - b.value || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
        const low = new Set(order.slice(0, Math.floor(order.length / 2)).map(({ i }) => i))
        const half = (isLow: boolean): number => mean(rewards.filter((_, i) => low.has(i) === isLow))
        const means = { low: half(true), high: half(false) }
        return rewards.map((reward, i) => {
          const [own, other] = low.has(i) ? [means.low, means.high] : [means.high, means.low]
          // alpha scales the rewards of the long half or, by entropy, of the low-entropy half, in both comparisons.
          const tiltsOwn = (metric === 'length') !== low.has(i)
          const inter = tiltsOwn ? alpha * reward - other : reward - alpha * other
          return across * (inter + (low.has(i) ? -beta : beta)) + (1 - across) * (reward - own)
        })
      })
    },
  }),
})

function measure(rollout: Rollout, metric: 'entropy' | 'length'): number {
  const { entropies } = rollout
  return metric === 'length'
    ? writtenLength(rollout)
    : mean(Array.from(entropies ? writtenOf(entropies, rollout) : []))
}
