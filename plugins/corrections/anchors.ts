// The log-probability that a loss compares the policy with, as a setting that several losses share.
//
// `proximal`: the policy as it was when the batch began; corrections such as `tis` then account for what was sampled
// elsewhere (decoupled). `behaviour`: the sampler itself (bypass): no second weight may be put on top, it would count
// the same ratio twice. Tokens whose sampler is unknown fall back on the proximal policy.

import { z } from 'zod'
import { column, type Expression, ratio, where } from '../../protocol/plugin/expression.ts'

export const anchorSetting = z.enum(['proximal', 'behaviour']).default('proximal')
export type Anchor = z.infer<typeof anchorSetting>

export const LOGPROB = column('logprob')
export const ADVANTAGE = column('advantage')
export const KNOWN = column('known')

export function anchorLogprob(anchor: Anchor): Expression {
  const proximal = column('proximal')
  return anchor === 'proximal' ? proximal : where(KNOWN, column('behaviour'), proximal)
}

/** pi_theta / pi_anchor of the token. */
export const anchoredRatio = (anchor: Anchor): Expression => ratio(LOGPROB, anchorLogprob(anchor))
