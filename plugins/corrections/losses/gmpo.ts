// GMPO: the geometric mean of token ratios times the advantage, with each log-ratio clipped on the harmful
// side.
//
// Zhao et al. 2025 (Geometric-Mean Policy Optimization): log-ratios are clipped at +high for positive
// advantages and at -low for negative ones, 0.4 each, before their mean is taken. A single outlier then
// cannot dominate a row.

import { z } from 'zod'
import {
  exp,
  greater,
  less,
  max,
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
  low: z.number().positive().default(0.4),
  high: z.number().positive().default(0.4),
  anchor: anchorSetting,
})

export default definePlugin({
  name: 'gmpo',
  kind: 'correction',
  api: 1,
  summary: 'The geometric mean of one-sidedly clipped token ratios.',
  settings,
  create: ({ low, high, anchor }) => ({
    correct(): Correction {
      const drift = sub(LOGPROB, anchorLogprob(anchor))
      const gains = greater(ADVANTAGE, 0)
      const clipped = where(gains, min(drift, high), max(drift, -low))
      // Clipping leaves log-ratios unbounded on the harmless side, so their mean is clamped to +-20.
      const ratio = exp(max(min(rowMean(clipped), 20), -20))
      return {
        loss: neg(mul(ADVANTAGE, ratio)),
        metrics: {
          ratio,
          clip_high: mul(gains, greater(drift, high)),
          clip_low: mul(less(ADVANTAGE, 0), less(drift, -low)),
        },
      }
    },
  }),
})
