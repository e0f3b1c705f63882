// TRLOO: each turn's reward to go against the mean of the other rollouts' at the same turn.
//
// Turn-level REINFORCE leave-one-out of Dr. Kernel, after its released code. Discounting is a setting; it is off, as
// nothing was found on the code's own value. A turn that no other rollout came to gets 0, where the code gives its raw
// return (`alone: "raw"`).

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { limitSetting } from './groups.ts'
import { spread, stepsOf, together } from './turns.ts'

const settings = z.strictObject({
  gamma: z.number().positive().max(1).default(1),
  alone: z.enum(['zero', 'raw']).default('zero'),
  limit: limitSetting,
})

export default definePlugin({
  name: 'trloo',
  kind: 'estimator',
  api: 1,
  summary: 'Turns against the same turn of the other rollouts.',
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
