// TOPR: full weight for positive advantages, a weight of at most 1 for negative ones.
//
// Le Roux et al. 2025 (Tapered Off-Policy REINFORCE), per token as in Trinity-RFT: -sg(w) A log pi, with w =
// 1 above the threshold and min(ratio, 1) at or below it. A failure that the policy would no longer produce
// loses its influence, which keeps stale and foreign negative advantages safe.

import { z } from 'zod'
import {
  detach,
  greater,
  less,
  min,
  mul,
  neg,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchoredRatio, anchorSetting, LOGPROB } from './anchors.ts'

export default definePlugin({
  name: 'topr',
  kind: 'correction',
  api: 1,
  summary: 'REINFORCE with tapered weights on negative advantages.',
  settings: z.strictObject({ threshold: z.number().default(0), anchor: anchorSetting }),
  create: ({ threshold, anchor }) => ({
    correct(): Correction {
      const ratio = anchoredRatio(anchor)
      const won = greater(ADVANTAGE, threshold)
      const weight = where(won, 1, min(ratio, 1))
      return {
        loss: neg(mul(mul(detach(weight), ADVANTAGE), LOGPROB)),
        metrics: { ratio, tapered: where(won, 0, less(ratio, 1)) },
      }
    },
  }),
})
