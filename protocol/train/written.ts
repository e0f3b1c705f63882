// What the policy wrote of a completion, where an environment wrote some of it, too: statistics over a rollout's tokens are
// over these, as the loss is.

import type { Rollout } from './rollout.ts'

type Masked = Pick<Rollout, 'lossMask'>

/** Of numbers one a token, those at the policy's tokens. */
export function writtenOf(values: Float32Array, { lossMask }: Masked): Float32Array {
  return lossMask ? values.filter((_, i) => lossMask[i] !== 0) : values
}

/** How many tokens the policy wrote. */
export function writtenLength({ tokens, lossMask }: Masked & Pick<Rollout, 'tokens'>): number {
  return lossMask ? lossMask.reduce((sum, kept) => sum + (kept ? 1 : 0), 0) : tokens.length
}
