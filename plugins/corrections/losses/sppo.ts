// sPPO: the log-ratio instead of the ratio, inside a trust region that is symmetric in log space.
//
// Trinity-RFT's simplified PPO: -A (log pi - log pi_anchor) while 1 / (1 + epsilon) <= ratio <= 1 + epsilon,
// else 0; epsilon is 0.3. Outside the region a token has no gradient on either side.

import { z } from 'zod'
import { detach, greater, less, mul, neg, not, sub } from '../../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchoredRatio, anchorLogprob, anchorSetting, LOGPROB } from './anchors.ts'

export default definePlugin({
  name: 'sppo',
  kind: 'correction',
  api: 1,
  summary: 'Advantage times log-ratio, inside a symmetric trust region.',
  settings: z.strictObject({ epsilon: z.number().positive().default(0.3), anchor: anchorSetting }),
  create: ({ epsilon, anchor }) => ({
    correct(): Correction {
      const ratio = detach(anchoredRatio(anchor))
      const inside = mul(not(greater(ratio, 1 + epsilon)), not(less(ratio, 1 / (1 + epsilon))))
      const drift = sub(LOGPROB, anchorLogprob(anchor))
      return {
        loss: neg(mul(mul(inside, ADVANTAGE), drift)),
        metrics: { ratio, outside: not(inside) },
      }
    },
  }),
})
