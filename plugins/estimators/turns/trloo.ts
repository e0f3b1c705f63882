// TRLOO: each turn's return minus the mean return of the other rollouts at the same turn.
//
// Dr. Kernel's turn-level REINFORCE leave-one-out, after its released code. Discounting is a setting, off by
// default because the code's own value was not found. A turn that no other rollout reached gets 0, where the
// code gives its raw return (`alone: "raw"`).

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { limitSetting } from '../shared/groups.ts'
import { spread, stepsOf, together } from './turns.ts'

const settings = z.strictObject({
  gamma: z.number().positive().max(1).default(1),
  alone: z.enum(['zero', 'raw']).default('zero'),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'trloo',
  summary: 'Compares each turn with the same turn of the other rollouts.',
  settings,
  create: ({ gamma, alone, limit }) => ({
    advantage: (groups) =>
      groups.map(({ rollouts }) => {
        const steps = stepsOf(rollouts, gamma)
        const values = steps.map(() => 0)
        for (const members of together(steps, ({ turn }) => `${turn}`)) {
          const sum = members.reduce((total, i) => total + steps[i]!.toGo, 0)
          for (const i of members) {
            const { toGo } = steps[i]!
            if (members.length > 1) values[i] = toGo - (sum - toGo) / (members.length - 1)
            else if (alone === 'raw') values[i] = toGo
          }
        }
        return spread(rollouts, steps, values, limit)
      }),
  }),
})
