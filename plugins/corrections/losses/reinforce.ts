// REINFORCE: advantage times log-probability, without any ratio.
//
// Williams 1992. On-policy, this is the exact policy gradient. Off-policy, it needs either a weight from a
// correction such as `tis`, or an estimator designed for it: `gpg`, `opmd`, `red_weight`. `regularise`
// adds the squared log-ratio to the policy at the start of the batch (REP-k2 of Yao et al. 2025, who recommend
// regularisation).

import { z } from 'zod'
import { add, column, mul, neg, sub } from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, LOGPROB } from './anchors.ts'

export default definePlugin({
  name: 'reinforce',
  kind: 'correction',
  api: 1,
  summary: 'The plain policy gradient: advantage times log-probability.',
  settings: z.strictObject({ regularise: z.number().nonnegative().default(0) }),
  create: ({ regularise }) => ({
    correct(): Correction {
      const gradient = neg(mul(ADVANTAGE, LOGPROB))
      const drift = sub(LOGPROB, column('proximal'))
      const squared = mul(drift, drift)
      return {
        loss: regularise === 0 ? gradient : add(gradient, mul(regularise, squared)),
        metrics: { drift_squared: squared },
      }
    },
  }),
})
