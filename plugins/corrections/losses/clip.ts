// PPO's clipped objective on the ratio to the proximal policy, with separate bounds for the two sides.
//
// max(-ratio A, -clip(ratio, 1 - low, 1 + high) A) (Schulman et al. 2017). 0.2 and 0.28 are DAPO's
// clip-higher. The dual clip, -dual A for A < 0 and a ratio above `dual` (Ye et al. 2020), has verl's default of
// 3. The function is written by cases: at a ratio of exactly 1 both sides of the max are equal, and the
// gradient should not depend on how an engine differentiates ties.

import { z } from 'zod'
import {
  type Expression,
  greater,
  less,
  mul,
  neg,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchoredRatio, anchorLogprob, anchorSetting, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  low: z.number().positive().max(1).default(0.2),
  high: z.number().positive().default(0.28),
  /** Largest ratio that counts for a token with a negative advantage; null for no bound. */
  dual: z.number().gt(1).nullable().default(3),
  anchor: anchorSetting,
})

export default definePlugin({
  name: 'clip',
  kind: 'correction',
  api: 1,
  summary: 'The PPO loss: ratio times advantage, clipped on each side.',
  settings,
  create: ({ low, high, dual, anchor }) => ({
    correct() {
      const ratio = anchoredRatio(anchor)
      const clippedHigh = mul(greater(ADVANTAGE, 0), greater(ratio, 1 + high))
      const clippedLow = mul(less(ADVANTAGE, 0), less(ratio, 1 - low))
      let bounded: Expression = where(clippedHigh, 1 + high, where(clippedLow, 1 - low, ratio))
      const clippedDual = dual === null ? 0 : mul(less(ADVANTAGE, 0), greater(ratio, dual))
      if (dual !== null) bounded = where(clippedDual, dual, bounded)
      return {
        loss: neg(mul(bounded, ADVANTAGE)),
        metrics: {
          ratio,
          clip_low: clippedLow,
          clip_high: clippedHigh,
          clip_dual: clippedDual,
          // The k3 estimate of the divergence from the anchor: how far the policy has moved within the batch.
          kl: sub(sub(ratio, 1), sub(LOGPROB, anchorLogprob(anchor))),
        },
      }
    },
  }),
})
