// The anchor: the policy in the denominator of a loss's ratio, a setting that several losses share.
//
// `proximal`: the policy at the start of the batch; corrections such as `tis` then account for tokens that
// another policy sampled (decoupled). `behaviour`: the sampler itself (bypass); do not combine it with another
// importance weight, which would count the same ratio twice. `approximate`: AReaL's substitute for the proximal
// policy, interpolated by age between the sampler and the current policy: (1 - a) log mu + a log pi, a = (age
// - 1) / age. In batches of several steps it saves the scoring pass; use `tis` with the same setting. Tokens
// with an unknown sampler use the proximal policy (with `approximate`, the current one).

import { z } from 'zod'
import {
  add,
  clamp,
  column,
  detach,
  div,
  type Expression,
  max,
  mul,
  ratio,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'

export const anchorSetting = z.enum(['proximal', 'behaviour', 'approximate']).default('proximal')
type Anchor = z.infer<typeof anchorSetting>

export const LOGPROB = column('logprob')
export const ADVANTAGE = column('advantage')
export const KNOWN = column('known')

export function anchorLogprob(anchor: Anchor): Expression {
  const proximal = column('proximal')
  if (anchor === 'proximal') return proximal
  // Tokens with an unknown sampler use the current policy, since there was no scoring pass.
  if (anchor === 'approximate') return where(KNOWN, approximateProximal(), detach(LOGPROB))
  return where(KNOWN, column('behaviour'), proximal)
}

/** The policy of one version ago, assuming that every version since sampling moved it equally far. */
export function approximateProximal(): Expression {
  const age = column('staleness')
  const passed = clamp(div(sub(age, 1), max(age, 1)), 0, 1)
  return add(mul(sub(1, passed), column('behaviour')), mul(passed, detach(LOGPROB)))
}

/** pi_theta / pi_anchor, per token. */
export const anchoredRatio = (anchor: Anchor): Expression => ratio(LOGPROB, anchorLogprob(anchor))
