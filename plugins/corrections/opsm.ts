// OPSM: drops whole rows with a negative advantage from which the policy has drifted away.
//
// Off-policy sequence masking of DeepSeek-V3.2, as in TRL: a row is dropped if A < 0 and the mean of
// behaviour - log pi over its tokens is above delta. Mistakes that the policy would hardly make any more
// teach little and can push it in any direction. If advantages differ by token, the row's mean advantage
// decides.

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
} from '../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { ADVANTAGE, KNOWN, LOGPROB } from './losses/anchors.ts'

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
