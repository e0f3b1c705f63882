// REC: REINFORCE on the tokens whose ratio is in a range, with or without importance weights.
//
// Yao et al. 2025 (Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm), with Trinity-RFT's defaults
// of 0.2 and 0.2 and, for the ring, 0.6 and 2. With `one-side` and weights its gradient equals that of PPO's
// clip. Without weights only the clipping remains, for samplers whose log-probs are only approximate. `sequence`
// is REC-GSPO: one-sided, with the geometric mean of a row's ratios for both the range and the weight; the
// method averages within rows, so use training.aggregation = "sequence_mean". Range and weight are detached.

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
  ratio as ratioOf,
  rowMean,
  sub,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchoredRatio, anchorLogprob, anchorSetting, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  range: z.enum(['one-side', 'two-side', 'ring', 'sequence']).default('one-side'),
  weights: z.boolean().default(true),
  low: z.number().positive().max(1).default(0.2),
  high: z.number().positive().default(0.2),
  /** Beyond these, the ring includes tokens again if the advantage pulls them back. */
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
      const drift = rowMean(sub(LOGPROB, anchorLogprob(anchor)))
      const ratio = detach(range === 'sequence' ? ratioOf(drift, 0) : anchoredRatio(anchor))
      const [above, below] = [greater(ratio, 1 + high), less(ratio, 1 - low)]
      const [gains, loses] = [not(less(ADVANTAGE, 0)), not(greater(ADVANTAGE, 0))]
      let inside: Expression = mul(not(above), not(below))
      if (range === 'one-side' || range === 'sequence')
        inside = max(mul(gains, not(above)), mul(loses, not(below)))
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
