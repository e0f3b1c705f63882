// IPO: drops tokens whose probability has moved too far in either direction.
//
// PRIME-RL's loss of that name (not identity preference optimization). With p and q the token's probability
// now and under the sampler, a token is out of range if |p - q| > 0.1, whatever its advantage; the rest is as
// in `dppo`. Later versions of PRIME-RL use 0.3, cap the ratio at 1e4 and have no pull: `bound = 0.3`, `cap =
// 1e4`, `pull = 0`. The cap of 8 is ours, as in `dppo`; within the bound, the ratio is large only if both
// probabilities are small.

import { z } from 'zod'
import { abs, greater } from '../../../../protocol/plugin/expression/expression.ts'
import { definePlugin } from '../../../../protocol/plugin/index.ts'
import { boundedSettings, boundedWhere } from './probability-bound.ts'

const settings = z.strictObject({ bound: z.number().positive().default(0.1), ...boundedSettings })

export default definePlugin({
  name: 'ipo',
  kind: 'correction',
  api: 1,
  summary: 'Policy gradient on tokens whose probability has hardly changed.',
  settings,
  create: ({ bound, ...rest }) => ({
    correct: () => boundedWhere((moved) => greater(abs(moved), bound), rest),
  }),
})
