// Truncated importance sampling: weighs a token by how likely the proximal policy was to write it, against the sampler.
//
// w = exp(proximal - behaviour), cut at the cap: Yao et al. 2025; verl's rollout correction at its default cap of 2.
// One ratio below the veto says that the sampler was not the model it claims to be: the row goes (verl). Tokens whose
// sampler is unknown are masked, not trusted, unless a setting keeps them at weight 1. Not for use with a loss that
// is anchored at the behaviour policy: it has this ratio in it already.

import { z } from 'zod'
import {
  add,
  column,
  detach,
  type Expression,
  greater,
  less,
  max,
  min,
  mul,
  neg,
  not,
  ratio,
  rowSum,
  sub,
  where,
} from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { approximateProximal, KNOWN } from './anchors.ts'

const settings = z.strictObject({
  cap: z.number().positive().default(2),
  /** `sequence`: one weight a row, the product over its tokens; unbiased, but its variance grows with length. */
  level: z.enum(['token', 'sequence']).default('token'),
  unknown: z.enum(['mask', 'keep']).default('mask'),
  veto: z.enum(['row', 'token', 'off']).default('row'),
  vetoBelow: z.number().positive().default(1e-4),
  /** `approximate` beside a loss with that anchor; see anchors.ts. */
  proximal: z.enum(['scored', 'approximate']).default('scored'),
})

export default definePlugin({
  name: 'tis',
  kind: 'correction',
  api: 1,
  summary: 'Truncated importance weights for tokens that another policy sampled.',
  settings,
  create: ({ cap, level, unknown, veto, vetoBelow, proximal: which }) => ({
    correct(): Correction {
      const proximal = which === 'approximate' ? approximateProximal() : column('proximal')
      const behaviour = column('behaviour')
      const gap = where(KNOWN, sub(proximal, behaviour), 0)
      const token = ratio(gap, 0)
      const weight = level === 'token' ? token : ratio(rowSum(gap), 0)
      const vetoed: Expression = veto === 'off' ? 0 : less(token, vetoBelow)
      const kept = not(veto === 'row' ? greater(rowSum(vetoed), 0) : vetoed)
      return {
        weight: detach(min(weight, cap)),
        mask: unknown === 'mask' ? mul(KNOWN, kept) : kept,
        // Means over all tokens, unknown ones at 0: divide by `known` for means over the known. The effective share
        // of the sample is weight^2 / (weight_squared * known), on weights that are not cut, so that it can alarm.
        metrics: {
          known: KNOWN,
          weight: mul(KNOWN, weight),
          weight_squared: mul(KNOWN, mul(weight, weight)),
          truncated: mul(KNOWN, greater(weight, cap)),
          vetoed: sub(1, kept),
          kl_k1: neg(gap),
          kl_k3: max(sub(add(token, -1), gap), 0),
        },
      }
    },
  }),
})
