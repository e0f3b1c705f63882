// REC: REINFORCE on the tokens whose ratio lies in a range, with or without importance weights.
//
// Yao et al. 2025 (Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm), Trinity-RFT's defaults 0.2, 0.2 and,
// for the ring, 0.6 and 2. With one side and weights its gradient is that of PPO's clip; without weights it is the
// clip alone, for samplers whose log-probs are only roughly known. All of range and weight is detached.

import { z } from 'zod'
import {
  detach,
  type Expression,
  greater,
  less,
  max,
  mul,
  neg,
  not,
} from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { ADVANTAGE, anchoredRatio, anchorSetting, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  range: z.enum(['one-side', 'two-side', 'ring']).default('one-side'),
  weights: z.boolean().default(true),
  low: z.number().positive().max(1).default(0.2),
  high: z.number().positive().default(0.2),
  /** The ring lets tokens back in beyond these, where the advantage pulls them home. */
  ringLow: z.number().positive().max(1).default(0.6),
  ringHigh: z.number().positive().default(2),
  anchor: anchorSetting,
})

export default definePlugin({
  name: 'rec',
  kind: 'correction',
  api: 1,
  summary: 'REINFORCE on tokens whose ratio is in range.',
  settings,
  create: ({ range, weights, low, high, ringLow, ringHigh, anchor }) => ({
    correct(): Correction {
      const ratio = detach(anchoredRatio(anchor))
      const [above, below] = [greater(ratio, 1 + high), less(ratio, 1 - low)]
      const [gains, loses] = [not(less(ADVANTAGE, 0)), not(greater(ADVANTAGE, 0))]
      let inside: Expression = mul(not(above), not(below))
      if (range === 'one-side') inside = max(mul(gains, not(above)), mul(loses, not(below)))
      if (range === 'ring') {
        const back = mul(gains, not(greater(ratio, 1 - ringLow)))
        const forth = mul(loses, not(less(ratio, 1 + ringHigh)))
        inside = max(inside, max(back, forth))
      }
      const factor = weights ? mul(inside, ratio) : inside
      return {
        loss: neg(mul(mul(factor, ADVANTAGE), LOGPROB)),
        metrics: { ratio, outside: not(inside) },
      }
    },
  }),
})
