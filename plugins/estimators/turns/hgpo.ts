// HGPO: compares a turn's return with turns that reached the same state by the same path; longer shared paths
// weigh more.
//
// Hierarchy-of-groups policy optimization, after its released code (the hgpo recipe of verl-agent). For k = 1
// .. history + 1, turns of a prompt are grouped if their last k states, including the current one, are equal.
// Turn t of an episode, counted from 0, has t + 1 states, so it belongs to no group with a larger k. Each group
// of two or more gives (R - mean) / (population deviation + 1e-6), or R - mean; non-zero values are averaged with
// weights (k + 1)^alpha. `episode` adds the episode's own advantage as k = 0, with mean and sample deviation over
// turns, so long episodes count more. The history of 2 is the code's; gamma 0.95 is GiGPO's.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, std } from '../shared/groups.ts'
import { type Step, spread, stepsOf, together } from './turns.ts'

const settings = z.strictObject({
  gamma: z.number().positive().max(1).default(0.95),
  history: z.int().nonnegative().max(16).default(2),
  alpha: z.number().nonnegative().default(1),
  divide: z.boolean().default(true),
  episode: z.boolean().default(false),
  epsilon: z.number().positive().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

/** Values below this count as 0. The released code tests for exactly 0, which fails under rounding. */
const NOTHING = 1e-9

export default defineEstimator({
  name: 'hgpo',
  summary: 'Compares turns that share their last states; longer matches weigh more.',
  settings,
  create: ({ gamma, history, alpha, divide, episode, epsilon, floor, limit }) => ({
    advantage: (groups) =>
      groups.map(({ rollouts }) => {
        const steps = stepsOf(rollouts, gamma)
        if (rollouts.filter(isScored).length < 2) return spread(rollouts, [], [], limit)
        const sums = steps.map(() => ({ value: 0, weight: 0 }))
        const add = (i: number, k: number, value: number): void => {
          if (Math.abs(value) < NOTHING) return
          const weight = (k + 1) ** alpha
          sums[i]!.value += weight * value
          sums[i]!.weight += weight
        }
        if (episode) {
          const rewards = steps.map(({ reward }) => reward)
          const [centre, scale] = [mean(rewards), divide ? Math.max(std(rewards), floor) + epsilon : 1]
          for (const [i, { reward }] of steps.entries()) add(i, 0, (reward - centre) / scale)
        }
        for (let k = 1; k <= history + 1; k++) {
          for (const members of together(steps, (step, i) => wayTo(steps, step, i, k))) {
            if (members.length < 2) continue
            const toGo = members.map((i) => steps[i]!.toGo)
            const scale = divide ? Math.max(std(toGo, 'population'), floor) + epsilon : 1
            for (const i of members) add(i, k, (steps[i]!.toGo - mean(toGo)) / scale)
          }
        }
        const values = sums.map(({ value, weight }) => value / (weight + epsilon))
        return spread(rollouts, steps, values, limit)
      }),
  }),
})

/** The last k states; undefined if the turn has fewer. */
function wayTo(steps: readonly Step[], { turn }: Step, index: number, k: number): string | undefined {
  if (k > turn + 1) return undefined
  return JSON.stringify(steps.slice(index - k + 1, index + 1).map(({ state }) => state))
}
