// Like SALT: a step that good and bad rollouts share gets the mean of their advantages.
//
// Reconstructed from the abstract and third-party notes. Steps are equal if they lead from the same state to
// the same state by the same tokens, in rollouts of one prompt. The step's advantage is the mean GRPO
// advantage of the rollouts that took it, each counted once. A step that only one rollout took keeps that
// rollout's advantage. How the paper merges steps, and whether it uses a longer history, is not known.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting, mean, perGroup, std, stdSetting } from '../shared/groups.ts'
import { spread, stepsOf, together } from './turns.ts'

const settings = z.strictObject({
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'salt_like',
  summary: 'GRPO by steps: a shared step gets the mean over its rollouts.',
  settings,
  create: ({ std: kind, epsilon, floor, limit }) => ({
    advantage(groups) {
      const scores = perGroup(groups, { limit }, (rewards) => {
        const [centre, scale] = [mean(rewards), Math.max(std(rewards, kind), floor) + epsilon]
        return rewards.map((reward) => (reward - centre) / scale)
      })
      return groups.map(({ rollouts }, g) => {
        const steps = stepsOf(rollouts, 1)
        const values = steps.map(({ rollout }) => scores[g]![rollout]!)
        const edges = together(steps, ({ rollout, turn, state, start, length }) => {
          const { tokens, turns } = rollouts[rollout]!
          // A rollout without turns is a single step.
          if (!turns?.length) return `${rollout}`
          const next = turns[turn + 1]?.state ?? null
          return JSON.stringify([state, [...tokens.subarray(start, start + length)], next])
        })
        for (const members of edges) {
          const takers = [...new Set(members.map((i) => steps[i]!.rollout))]
          const shared = mean(takers.map((rollout) => scores[g]![rollout]!))
          for (const i of members) values[i] = shared
        }
        return spread(rollouts, steps, values, limit)
      })
    },
  }),
})
