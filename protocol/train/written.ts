// Selects the policy's own tokens in a completion that also contains an environment's tokens. The loss and all
// statistics use only these.

import type { Rollout } from './rollout.ts'

type Masked = Pick<Rollout, 'lossMask'>

/** The entries of a per-token array at the policy's tokens. */
export function writtenOf(values: Float32Array, { lossMask }: Masked): Float32Array {
  return lossMask ? values.filter((_, i) => lossMask[i] !== 0) : values
}

/** Indices of the policy's tokens within the completion. */
export function writtenPositions({ tokens, lossMask }: Masked & Pick<Rollout, 'tokens'>): number[] {
  return Array.from(tokens.keys()).filter((t) => lossMask?.[t] !== 0)
}

/** Number of tokens that the policy wrote. */
export function writtenLength({ tokens, lossMask }: Masked & Pick<Rollout, 'tokens'>): number {
  return lossMask ? lossMask.reduce((sum, kept) => sum + (kept ? 1 : 0), 0) : tokens.length
}
