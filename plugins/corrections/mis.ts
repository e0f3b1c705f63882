// Masked importance sampling (IcePop): drops tokens or rows whose ratio to the sampler is outside a window.
//
// As in slime and, per token in [0.5, 5], Ling-Team's IcePop: tokens that stay are weighted by their ratio.
// Per row the ratio is the product over tokens, or with `geometric` their geometric mean, which only tests
// for drift and is never used as a weight. [0.99, 1.01] suits peers with the same engine, [0.9, 1.1]
// quantized ones. The ratio is proximal over behaviour, as in tis.

import { z } from 'zod'
import {
  column,
  detach,
  greater,
  less,
  max,
  mul,
  not,
  ratio,
  rowMean,
  rowSum,
  sub,
  where,
} from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { KNOWN } from './losses/anchors.ts'

const settings = z.strictObject({
  level: z.enum(['token', 'sequence', 'geometric']).default('token'),
  low: z.number().nonnegative().default(0.5),
  high: z.number().positive().default(5),
  /** False to only mask, when another correction sets the weights. */
  weigh: z.boolean().default(true),
  unknown: z.enum(['mask', 'keep']).default('mask'),
})

export default definePlugin({
  name: 'mis',
  kind: 'correction',
  api: 1,
  summary: 'Masks tokens or rows whose importance ratio is out of range.',
  settings,
  create: ({ level, low, high, weigh, unknown }) => ({
    correct(): Correction {
      const gap = where(KNOWN, sub(column('proximal'), column('behaviour')), 0)
      const total = rowSum(gap)
      // Mean over the known tokens; 0 for a row without any.
      const average = rowMean(gap, KNOWN)
      const compared = ratio(level === 'token' ? gap : level === 'sequence' ? total : average, 0)
      const inside = not(max(less(compared, low), greater(compared, high)))
      const correction: Correction = {
        mask: unknown === 'mask' ? mul(KNOWN, inside) : inside,
        metrics: { ratio: mul(KNOWN, compared), rejected: not(inside) },
      }
      if (weigh && level !== 'geometric') correction.weight = detach(compared)
      return correction
    },
  }),
})
