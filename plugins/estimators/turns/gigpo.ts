// GiGPO: the episode's reward relative to the group's, plus each turn's return relative to those of other turns in
// the same state.
//
// Group-in-group policy optimization (arXiv 2505.10978), after its released code: gamma 0.95, omega 1, means
// subtracted without dividing (`divide` divides by the deviation: sample, 1e-6). Episode means are taken over
// turns, so long episodes count more (`rollouts` counts each once). A state visited only once contributes nothing;
// a state visited twice by one rollout counts twice. States match only if equal: the code's option of nearly
// equal states is left out. Single rollouts get 0, where the code gives their raw reward. A task without turns
// has one state, so both parts are the same.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, std } from '../shared/groups.ts'
import { spread, stepsOf, together } from './turns.ts'

const settings = z.strictObject({
  gamma: z.number().positive().max(1).default(0.95),
  omega: z.number().nonnegative().default(1),
  divide: z.boolean().default(false),
  episodes: z.enum(['steps', 'rollouts']).default('steps'),
  epsilon: z.number().positive().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'gigpo',
  summary: 'Compares episodes in the group, and turns with others in the same state.',
  settings,
  create: ({ gamma, omega, divide, episodes, epsilon, floor, limit }) => ({
    advantage: (groups) =>
      groups.map(({ rollouts }) => {
        const steps = stepsOf(rollouts, gamma)
        const scored = rollouts.filter(isScored)
        if (scored.length < 2) return spread(rollouts, [], [], limit)
        const scaleOf = (values: readonly number[]): number =>
          divide ? Math.max(std(values), floor) + epsilon : 1
        const rewards = (episodes === 'steps' ? steps : scored).map(({ reward }) => reward)
        const [centre, scale] = [mean(rewards), scaleOf(rewards)]
        const values = steps.map(({ reward }) => (reward - centre) / scale)
        for (const members of together(steps, ({ state }) => state)) {
          if (members.length < 2) continue
          const toGo = members.map((i) => steps[i]!.toGo)
          const [middle, width] = [mean(toGo), scaleOf(toGo)]
          for (const i of members) values[i]! += (omega * (steps[i]!.toGo - middle)) / width
        }
        return spread(rollouts, steps, values, limit)
      }),
  }),
})
