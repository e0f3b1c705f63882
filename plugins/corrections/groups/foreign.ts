// Limits the most dangerous part of a peer's rollouts: negative advantages on unlikely tokens.
//
// Lowering the probability of one token raises that of all others, without bound. So a peer's token with a negative
// advantage gets a weight of at most 1, as in TOPR. `cap` is for use with `tis`, which already applies the ratio: it
// caps that ratio at 1. `alone` is for use without any other weight: it applies min(ratio, 1). `weight` can lower
// the weight of all foreign tokens. This node's own tokens are not changed.
//
// Rows with a negative advantage whose author's policy is far from this one (mean of behaviour - log pi above
// `far` nats per token) are dropped, as in F-TIS and DeepSeek-V3.2. The sampler is unknown if the peer has
// another tokenizer or its log-probs are not trusted. Then there is nothing to correct with: tokens with a positive
// advantage are trained on without a correction, and by default tokens with a negative advantage are not trained on
// at all. `uncorrected` counts such tokens. Positive advantages are safe without a ratio, because their gradient is
// bounded.

import { z } from 'zod'
import {
  column,
  detach,
  type Expression,
  greater,
  less,
  min,
  mul,
  not,
  ratio,
  rowMean,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { ADVANTAGE, KNOWN, LOGPROB } from '../losses/anchors.ts'

const settings = z.strictObject({
  /** Factor on every foreign token. */
  weight: z.number().min(0).max(1).default(1),
  /** Additional factor for foreign tokens with a negative advantage. */
  negative: z.number().min(0).max(1).default(1),
  /** Replaces the taper for such tokens if their sampler is unknown. */
  unknown: z.number().min(0).max(1).default(0),
  /** Maximum distance in nats per token; null for no limit. */
  far: z.number().positive().nullable().default(0.5),
  taper: z.enum(['cap', 'alone', 'off']).default('cap'),
})

export default definePlugin({
  name: 'foreign',
  kind: 'correction',
  api: 1,
  summary: "Tapers the negative advantages of peers' rollouts.",
  settings,
  create: ({ weight, negative, unknown, far, taper }) => ({
    correct(): Correction {
      const foreign = column('foreign')
      const [proximal, behaviour] = [column('proximal'), column('behaviour')]
      const tapers: Record<typeof taper, Expression> = {
        cap: min(ratio(behaviour, proximal), 1),
        alone: min(ratio(proximal, behaviour), 1),
        off: 1,
      }
      const tapered = where(KNOWN, tapers[taper], unknown)
      const gap = where(KNOWN, sub(behaviour, detach(LOGPROB)), 0)
      const isFar = far === null ? 0 : greater(rowMean(gap, KNOWN), far)
      const dropped = mul(foreign, mul(isFar, less(rowMean(ADVANTAGE), 0)))
      const factor = where(less(ADVANTAGE, 0), mul(negative, tapered), 1)
      return {
        weight: detach(where(foreign, mul(weight, factor), 1)),
        mask: not(dropped),
        metrics: {
          share: foreign,
          negative: mul(foreign, less(ADVANTAGE, 0)),
          uncorrected: mul(foreign, not(KNOWN)),
          far: dropped,
        },
      }
    },
  }),
})
