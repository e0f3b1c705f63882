// OPSM: drops whole rows with a negative advantage that the policy has drifted away from.
//
// Off-policy sequence masking of DeepSeek-V3.2, as in TRL: a row goes if A < 0 and the mean of behaviour - log pi over
// its tokens is above delta. Mistakes that the policy would hardly make again teach little and can push it anywhere.
// The row's own advantage decides where advantages differ by token: their mean.

import { z } from 'zod'
import {
  column,
  detach,
  greater,
  less,
  mul,
  not,
  rowMean,
  sub,
  where,
} from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { ADVANTAGE, KNOWN, LOGPROB } from './anchors.ts'

export default definePlugin({
  name: 'opsm',
  kind: 'correction',
  api: 1,
  summary: 'Drops rows with a negative advantage that are far off-policy.',
  settings: z.strictObject({ delta: z.number().nonnegative().default(0.05) }),
  create: ({ delta }) => ({
    correct(): Correction {
      const gap = where(KNOWN, sub(column('behaviour'), detach(LOGPROB)), 0)
      const drift = rowMean(gap, KNOWN)
      const dropped = mul(less(rowMean(ADVANTAGE), 0), greater(drift, delta))
      return { mask: not(dropped), metrics: { dropped } }
    },
  }),
})
