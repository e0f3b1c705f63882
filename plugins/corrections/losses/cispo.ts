// CISPO: clips the importance weight instead of the objective, so that every token keeps a gradient.
//
// MiniMax-M1 (Chen et al. 2025): -sg(clip(ratio)) A log pi, without a lower bound. The cap of 5 on the ratio itself
// comes from ScaleRL (Khatri et al. 2025) and TRL.

import { z } from 'zod'
import { clamp, detach, greater, less, mul, neg } from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchoredRatio, anchorSetting, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  /** Smallest and largest weight. */
  floor: z.number().min(0).max(1).default(0),
  cap: z.number().min(1).default(5),
  anchor: anchorSetting,
})

export default definePlugin({
  name: 'cispo',
  kind: 'correction',
  api: 1,
  summary: 'REINFORCE with a clipped, detached importance weight.',
  settings,
  create: ({ floor, cap, anchor }) => ({
    correct(): Correction {
      const ratio = anchoredRatio(anchor)
      return {
        loss: neg(mul(mul(detach(clamp(ratio, floor, cap)), ADVANTAGE), LOGPROB)),
        metrics: { ratio, clip_low: less(ratio, floor), clip_high: greater(ratio, cap) },
      }
    },
  }),
})
