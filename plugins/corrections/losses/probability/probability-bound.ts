// Shared by `dppo` and `ipo`: the loss is -A ratio for tokens whose probability is within a bound of the sampler's,
// plus a pull towards the sampler for all tokens.

import { z } from 'zod'
import {
  add,
  detach,
  type Expression,
  exp,
  greater,
  min,
  mul,
  neg,
  ratio as ratioOf,
  sub,
  where,
} from '../../../../protocol/plugin/expression/expression.ts'
import type { Correction } from '../../../../protocol/plugin/index.ts'
import { ADVANTAGE, anchorLogprob, LOGPROB } from '../anchors.ts'

export const boundedSettings = {
  /** Coefficient of the squared log-ratio, PRIME-RL's `kl_tau`. */
  pull: z.number().nonnegative().default(1e-3),
  /** Largest ratio that has a gradient; 8 is the bound of PRIME-RL's earlier token mask. */
  cap: z.number().gt(1).default(8),
}

/** `outside` gets the token's current probability minus the sampler's, and returns 1 if that is out of range. */
export function boundedWhere(
  outside: (moved: Expression) => Expression,
  { pull, cap }: { pull: number; cap: number },
): Correction {
  const sampler = anchorLogprob('behaviour')
  const isOutside = outside(detach(sub(exp(LOGPROB), exp(sampler))))
  const ratio = ratioOf(LOGPROB, sampler)
  const drift = sub(LOGPROB, sampler)
  const gained = where(isOutside, 0, mul(ADVANTAGE, min(ratio, cap)))
  return {
    loss: add(neg(gained), mul(pull, mul(drift, drift))),
    metrics: { ratio, outside: isOutside, capped: greater(ratio, cap) },
  }
}
