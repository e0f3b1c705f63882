// GSPO: PPO's clipped objective on the sequence's ratio, the geometric mean over its tokens.
//
// Zheng et al. 2025, in the token form: the value is the sequence's ratio, and each token contributes its own
// gradient. Such ratios move far less than token ratios, hence the small bounds 3e-4 and 4e-4. The log of the
// ratio is clamped at 10, as in verl. The method averages within rows first: use training.aggregation =
// "sequence_mean". With "sequence_sum" it is LUSPO.

import { z } from 'zod'
import {
  add,
  detach,
  exp,
  greater,
  less,
  min,
  mul,
  neg,
  rowMean,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchorLogprob, anchorSetting, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  low: z.number().positive().max(1).default(3e-4),
  high: z.number().positive().default(4e-4),
  anchor: anchorSetting,
})

export default definePlugin({
  name: 'gspo',
  kind: 'correction',
  api: 1,
  summary: 'The PPO loss on the ratio of whole sequences.',
  settings,
  create: ({ low, high, anchor }) => ({
    correct(): Correction {
      const drift = rowMean(sub(LOGPROB, anchorLogprob(anchor)))
      // The second term has the value 0 and carries the token's gradient.
      const logRatio = add(detach(drift), sub(LOGPROB, detach(LOGPROB)))
      const ratio = exp(min(logRatio, 10))
      const clippedHigh = mul(greater(ADVANTAGE, 0), greater(ratio, 1 + high))
      const clippedLow = mul(less(ADVANTAGE, 0), less(ratio, 1 - low))
      const bounded = where(clippedHigh, 1 + high, where(clippedLow, 1 - low, ratio))
      return {
        loss: neg(mul(bounded, ADVANTAGE)),
        metrics: { ratio, clip_low: clippedLow, clip_high: clippedHigh },
      }
    },
  }),
})
