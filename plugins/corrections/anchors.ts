// The log-probability that a loss compares the policy with, as a setting that several losses share.
//
// `proximal`: the policy as it was when the batch began; corrections such as `tis` then account for what was sampled
// elsewhere (decoupled). `behaviour`: the sampler itself (bypass): no second weight may be put on top, it would count
// the same ratio twice. `approximate`: AReaL's stand-in for the proximal policy, between the sampler and the policy as it
// is, by age: (1 - a) log mu + a log pi, a = (age - 1) / age; for batches of several steps it saves the scoring pass, beside
// `tis` with the same setting. Tokens whose sampler is unknown fall back on the proximal policy.

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
} from '../../protocol/plugin/expression.ts'

export const anchorSetting = z.enum(['proximal', 'behaviour', 'approximate']).default('proximal')
export type Anchor = z.infer<typeof anchorSetting>

export const LOGPROB = column('logprob')
export const ADVANTAGE = column('advantage')
export const KNOWN = column('known')

export function anchorLogprob(anchor: Anchor): Expression {
  const proximal = column('proximal')
  if (anchor === 'proximal') return proximal
  // The policy as it is, for tokens without a sampler: nothing is scored for them.
  if (anchor === 'approximate') return where(KNOWN, approximateProximal(), detach(LOGPROB))
  return where(KNOWN, column('behaviour'), proximal)
}

/** The policy one version ago, were it to have moved as far in every version since the token was sampled. */
export function approximateProximal(): Expression {
  const age = column('staleness')
  const passed = clamp(div(sub(age, 1), max(age, 1)), 0, 1)
  return add(mul(sub(1, passed), column('behaviour')), mul(passed, detach(LOGPROB)))
}

/** pi_theta / pi_anchor of the token. */
export const anchoredRatio = (anchor: Anchor): Expression => ratio(LOGPROB, anchorLogprob(anchor))
