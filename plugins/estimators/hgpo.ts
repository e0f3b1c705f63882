// HGPO: a turn's reward to go against other turns that came to the same state by the same way, the longer the way the more.
//
// Hierarchy-of-groups policy optimization, after its released code: for k = 1 .. history + 1 the turns of a prompt are
// together whose last k states, the present one included, are the same; each such group of two or more gives (R - mean) /
// (population deviation + 1e-6), or R - mean; what is not 0 is averaged with weights (k + 1)^alpha. `episode` adds the
// episode's own advantage (sample deviation) as k = 0. The history's length is the code's 2; gamma is GiGPO's 0.95.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { isScored, limitSetting, mean, std } from './groups.ts'
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

/** The code's test is for exactly 0, which sums of decimals miss. */
const NOTHING = 1e-9

export default definePlugin({
  name: 'hgpo',
  kind: 'estimator',
  api: 1,
  summary: 'Turns against others with the same last states, by how many.',
  settings,
  create: ({ gamma, history, alpha, divide, episode, epsilon, floor, limit }) => ({
    advantage: (groups) =>
      groups.map(({ rollouts }) => {
        const steps = stepsOf(rollouts, gamma)
        const scored = rollouts.filter(isScored)
        if (scored.length < 2) return spread(rollouts, [], [], limit)
        const sums = steps.map(() => ({ value: 0, weight: 0 }))
        const add = (i: number, k: number, value: number): void => {
          if (Math.abs(value) < NOTHING) return
          const weight = (k + 1) ** alpha
          sums[i]!.value += weight * value
          sums[i]!.weight += weight
        }
        if (episode) {
          const rewards = scored.map(({ reward }) => reward)
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

/** The last k states; fewer at an episode's beginning, which is then part of the way. */
function wayTo(steps: readonly Step[], { turn }: Step, index: number, k: number): string {
  const from = Math.max(0, turn - k + 1)
  const states = steps.slice(index - (turn - from), index + 1).map(({ state }) => state)
  return JSON.stringify(states)
}
