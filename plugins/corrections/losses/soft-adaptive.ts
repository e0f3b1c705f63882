// Soft adaptive policy optimization: a smooth gate on the ratio instead of PPO's hard clip.
//
// Gao et al. 2025 (they call it SAPO; it is not the swarm method of that name): (4 / tau) sigmoid(tau (ratio
// - 1)) A, whose slope is A at a ratio of 1 and decreases on both sides. tau is 1.0 for positive advantages and
// 1.05 for negative ones, which are less stable.

import { z } from 'zod'
import {
  div,
  greater,
  mul,
  neg,
  sigmoid,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchoredRatio, anchorSetting } from './anchors.ts'

const settings = z.strictObject({
  tauPositive: z.number().positive().default(1),
  tauNegative: z.number().positive().default(1.05),
  anchor: anchorSetting,
})

export default definePlugin({
  name: 'soft_adaptive',
  kind: 'correction',
  api: 1,
  summary: 'A smooth sigmoid gate on the ratio instead of the clip.',
  settings,
  create: ({ tauPositive, tauNegative, anchor }) => ({
    correct(): Correction {
      const ratio = anchoredRatio(anchor)
      const tau = where(greater(ADVANTAGE, 0), tauPositive, tauNegative)
      const gate = mul(div(4, tau), sigmoid(mul(tau, sub(ratio, 1))))
      return { loss: neg(mul(gate, ADVANTAGE)), metrics: { ratio, gate } }
    },
  }),
})
