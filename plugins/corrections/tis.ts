// Truncated importance sampling: weights a token by the ratio of the proximal policy to the sampler.
//
// w = exp(proximal - behaviour), truncated at the cap: Yao et al. 2025; verl's rollout correction, with its
// default cap of 2. `floor` is a lower bound (slime's clip). A ratio below `vetoBelow` means that the sampler
// was not the model it claims to be, and the whole row is dropped (verl); `vetoAbove` does the same for large ratios
// (PRIME-RL: 100). Tokens with an unknown sampler are masked, unless a setting keeps them at weight 1. Do not
// combine it with a loss that is anchored at the behaviour policy, since that loss already contains this ratio.
//
// `normalise` divides the truncated weights by their mean over the batch's tokens with a known sampler, or
// over its rows at sequence level (verl's batch normalization). Weights then change which tokens are learned
// from, but not how much is learned in total. The mean is computed before the update, from a scoring pass at
// temperature 1. It includes authors whose log-probs the node no longer trusts.

import { z } from 'zod'
import {
  add,
  clamp,
  column,
  detach,
  type Expression,
  greater,
  less,
  max,
  mul,
  neg,
  not,
  ratio,
  rowSum,
  sub,
  where,
} from '../../protocol/plugin/expression/expression.ts'
import { type Context, type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { gapsOf } from './gaps.ts'
import { approximateProximal, KNOWN } from './losses/anchors.ts'

/** There is no division by a mean below this (verl's bound), or if there are no weights. */
const SMALLEST_MEAN = 1e-8

const settings = z
  .strictObject({
    cap: z.number().positive().default(2),
    /** Smallest weight. */
    floor: z.number().nonnegative().default(0),
    /** `sequence`: one weight per row, the product over its tokens; unbiased, but variance grows with length. */
    level: z.enum(['token', 'sequence']).default('token'),
    unknown: z.enum(['mask', 'keep']).default('mask'),
    veto: z.enum(['row', 'token', 'off']).default('row'),
    vetoBelow: z.number().positive().default(1e-4),
    /** Ratios above this are vetoed too; null for no upper bound. */
    vetoAbove: z.number().gt(1).nullable().default(null),
    normalise: z.boolean().default(false),
    /** `approximate` with a loss that has the same anchor; see anchors.ts. */
    proximal: z.enum(['scored', 'approximate']).default('scored'),
  })
  .refine(({ floor, cap }) => floor <= cap, { message: 'floor must not be above cap' })
  .refine(({ normalise, proximal }) => !normalise || proximal === 'scored', {
    message:
      'normalise needs a scoring pass, which proximal = "approximate" is there to avoid: use only one of them',
  })

export default definePlugin({
  name: 'tis',
  kind: 'correction',
  api: 1,
  summary: 'Truncated importance weights for tokens that another policy sampled.',
  settings,
  create: ({ cap, floor, level, unknown, veto, vetoBelow, vetoAbove, normalise, proximal: which }) => ({
    correct(): Correction {
      const proximal = which === 'approximate' ? approximateProximal() : column('proximal')
      const behaviour = column('behaviour')
      const gap = where(KNOWN, sub(proximal, behaviour), 0)
      const token = ratio(gap, 0)
      const weight = level === 'token' ? token : ratio(rowSum(gap), 0)
      const isHigh = vetoAbove === null ? 0 : greater(token, vetoAbove)
      const vetoed: Expression = veto === 'off' ? 0 : max(less(token, vetoBelow), isHigh)
      const bounded = clamp(weight, floor, cap)
      const kept = not(veto === 'row' ? greater(rowSum(vetoed), 0) : vetoed)
      return {
        weight: detach(normalise ? mul(bounded, column('tis.scale')) : bounded),
        ...(normalise && { columns: { scale: 1 } }),
        mask: unknown === 'mask' ? mul(KNOWN, kept) : kept,
        // Means over all tokens, unknown ones as 0: divide by `known` for means over known tokens. The
        // effective sample share is weight^2 / (weight_squared * known); it uses untruncated weights, so that
        // it can warn.
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
    ...(normalise && {
      async columns(_: unknown, groups: readonly Group[], context: Context) {
        const rows = (await gapsOf(groups, context)).map(({ tokens }) => tokens.map(({ gap }) => gap))
        const gaps =
          level === 'token' ? rows.flat() : rows.map((row) => row.reduce((sum, gap) => sum + gap, 0))
        const weights = gaps.map((gap) =>
          Math.max(floor, Math.min(cap, Math.exp(Math.max(-20, Math.min(20, gap))))),
        )
        const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length
        const scale = mean > SMALLEST_MEAN ? 1 / mean : 1
        context.metric('scale', scale)
        return { scale }
      },
    }),
  }),
})
