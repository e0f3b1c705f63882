// DPPO: drops tokens whose probability, not ratio, has moved too far in the direction that the advantage pushes.
//
// PRIME-RL's divergence-bounded loss: masked if A > 0 and p - q > 0.2, or A <= 0 and p - q < -0.2, with p and q the
// token's probability now and at the sampler; else -A ratio + 1e-3 (log ratio)^2. Its hole: a token that the sampler
// called impossible and the policy finds likely passes with a ratio of e^11 when A < 0, so the ratio is capped here.

import { z } from 'zod'
import {
  add,
  detach,
  exp,
  greater,
  less,
  min,
  mul,
  neg,
  not,
  ratio as ratioOf,
  sub,
  where,
} from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { ADVANTAGE, anchorLogprob, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  low: z.number().positive().default(0.2),
  high: z.number().positive().default(0.2),
  pull: z.number().nonnegative().default(1e-3),
  /** Largest ratio that has a gradient; 8 is the bound of PRIME-RL's earlier token mask. */
  cap: z.number().gt(1).default(8),
})

export default definePlugin({
  name: 'dppo',
  kind: 'correction',
  api: 1,
  summary: 'Policy gradient inside a bound on the change of probability.',
  settings,
  create: ({ low, high, pull, cap }) => ({
    correct(): Correction {
      const sampler = anchorLogprob('behaviour')
      const moved = detach(sub(exp(LOGPROB), exp(sampler)))
      const outside = where(greater(ADVANTAGE, 0), greater(moved, high), less(moved, -low))
      const ratio = ratioOf(LOGPROB, sampler)
      const drift = sub(LOGPROB, sampler)
      const loss = add(neg(mul(ADVANTAGE, min(ratio, cap))), mul(pull, mul(drift, drift)))
      return { loss: mul(not(outside), loss), metrics: { ratio, outside, capped: greater(ratio, cap) } }
    },
  }),
})
