// The part of a teacher's distribution that it leaves out: the probability of all tokens but the likeliest.

import type { TopTokens } from '../../protocol/plugin/teacher.ts'

export type { TopTokens }

/**
 * Least probability of all other tokens together. Float32 cannot tell smaller ones from 0, and their part in a
 * divergence is nothing.
 */
export const LEAST_REST = 1e-6

/** log of the probability of all tokens that are not among these log-probs. */
export function restOf(logprobs: Float32Array): number {
  return Math.log(Math.max(LEAST_REST, 1 - logprobs.reduce((sum, logprob) => sum + Math.exp(logprob), 0)))
}
