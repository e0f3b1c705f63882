// Guards against the one thing in a peer's rollouts that is dangerous: negative advantages on unlikely tokens.
//
// Pushing a token down pushes every other up, and nothing bounds that. So a peer's token with a
// negative advantage weighs at most 1, as TOPR has it: beside `tis`, which has the ratio in it already, `cap` takes
// off what is above 1; with no other weight, `alone` puts min(ratio, 1). A share of everything foreign can be taken
// off too. This node's own tokens are left as they are.
//
// Rows whose author's policy is far from this one (mean of behaviour - log pi above `far` nats a token) and has a negative
// advantage are dropped, as F-TIS and DeepSeek-V3.2 do. Where the sampler is unknown, because the peer has another
// tokenizer or its log-probs are not believed, there is nothing to correct with: those tokens are learnt from without
// a correction where they did well, and by default not at all where they did badly; `uncorrected` says how
// many they are. "Did well" alone needs no ratio to be safe: the gradient of a positive example is bounded.

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
} from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { ADVANTAGE, KNOWN, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  /** Factor on every foreign token. */
  weight: z.number().min(0).max(1).default(1),
  /** Factor on top for foreign tokens with a negative advantage. */
  negative: z.number().min(0).max(1).default(1),
  /** Factor on top for those whose sampler is unknown, in place of the taper. */
  unknown: z.number().min(0).max(1).default(0),
  /** Nats a token; null for no such bound. */
  far: z.number().positive().nullable().default(0.5),
  taper: z.enum(['cap', 'alone', 'off']).default('cap'),
})

export default definePlugin({
  name: 'foreign',
  kind: 'correction',
  api: 1,
  summary: 'Tapers the negative advantages of what peers wrote.',
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
