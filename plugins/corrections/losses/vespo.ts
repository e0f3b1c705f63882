// VESPO: REINFORCE with a smooth function of the sequence's importance weight instead of a truncation.
//
// Variational sequence-level soft policy optimization, in TRL's form: w is the product of the row's ratios,
// and phi = exp(lambda + k log w - lambda w) weights each of its tokens, with (k, lambda) = (2, 3) for
// advantages of at least 0 and (3, 2) below. phi is 1 at w = 1 and falls to 0 on both sides.

import { z } from 'zod'
import {
  add,
  clamp,
  detach,
  exp,
  less,
  mul,
  neg,
  rowSum,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchorLogprob, anchorSetting, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  kPositive: z.number().positive().default(2),
  lambdaPositive: z.number().positive().default(3),
  kNegative: z.number().positive().default(3),
  lambdaNegative: z.number().positive().default(2),
  anchor: anchorSetting,
})

export default definePlugin({
  name: 'vespo',
  kind: 'correction',
  api: 1,
  summary: 'REINFORCE with a smooth function of the sequence weight.',
  settings,
  create: ({ kPositive, lambdaPositive, kNegative, lambdaNegative, anchor }) => ({
    correct(): Correction {
      const logWeight = clamp(rowSum(sub(LOGPROB, anchorLogprob(anchor))), -20, 20)
      const loses = less(ADVANTAGE, 0)
      const k = where(loses, kNegative, kPositive)
      const lambda = where(loses, lambdaNegative, lambdaPositive)
      const phi = exp(sub(add(lambda, mul(k, logWeight)), mul(lambda, exp(logWeight))))
      return {
        loss: neg(mul(mul(detach(phi), ADVANTAGE), LOGPROB)),
        metrics: { phi, log_weight: logWeight },
      }
    },
  }),
})
