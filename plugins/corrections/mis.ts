// Masked importance sampling (IcePop): drops tokens or rows whose ratio to the sampler lies outside a window.
//
// As in slime and, by tokens in [0.5, 5], Ling-Team's IcePop: what stays keeps its ratio as its weight. By rows the
// ratio is the product over tokens, or with `geometric` their geometric mean, which is a test for drift and never a
// weight; [0.99, 1.01] suits peers with the same engine, [0.9, 1.1] quantised ones. Direction as
// in tis: proximal over behaviour.

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
import { KNOWN } from './anchors.ts'

const settings = z.strictObject({
  level: z.enum(['token', 'sequence', 'geometric']).default('token'),
  low: z.number().nonnegative().default(0.5),
  high: z.number().positive().default(5),
  /** False to mask only, beside a correction that weighs. */
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
      // Over the known tokens; a row with none has a mean of 0.
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
