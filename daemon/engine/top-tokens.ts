// A distribution over K + 1 categories at each place of a completion: its K likeliest tokens, and all others together.
// It is what a teacher says about a student's answer, and it is small: 8 categories of 150,000 are enough to learn from.

import { WaggleError } from '../../protocol/errors.ts'

/** The likeliest tokens at each place of a completion of T tokens. */
export interface TopTokens {
  /** K: tokens at each place. */
  count: number
  /** Token ids, [T, K] row by row. No id twice in a row. */
  tokens: Int32Array
  /** Their log-probs in nats, [T, K]. */
  logprobs: Float32Array
}

/**
 * Least probability of all other tokens together. Float32 cannot tell smaller ones from 0, and their part in a
 * divergence is nothing.
 */
export const LEAST_REST = 1e-6

/** log of the probability of all tokens that are not among these log-probs. */
export function restOf(logprobs: Float32Array): number {
  return Math.log(Math.max(LEAST_REST, 1 - logprobs.reduce((sum, logprob) => sum + Math.exp(logprob), 0)))
}

/** Throws E_ENGINE unless the teacher has as many log-probs as tokens at each place, all of them possible. */
export function checkTopTokens(
  { count, tokens, logprobs }: TopTokens,
  { places, vocabulary }: { places: number; vocabulary: number },
): void {
  const refuse = (what: string): never => {
    throw new WaggleError('E_ENGINE', `a teacher's tokens cannot be used: ${what}`)
  }
  if (!(Number.isInteger(count) && count >= 1 && count <= vocabulary))
    refuse(`${count} at a place, with a vocabulary of ${vocabulary}`)
  if (tokens.length !== places * count || logprobs.length !== places * count)
    refuse(`${tokens.length} and ${logprobs.length} log-probs for ${places} places of ${count}`)
  // Less than 0 by more than rounding.
  if (!logprobs.every((logprob) => logprob <= 1e-4 && logprob > Number.NEGATIVE_INFINITY))
    refuse('a log-prob is above 0 or not finite')
  for (let place = 0; place < places; place++) {
    const row = tokens.subarray(place * count, (place + 1) * count)
    if (!row.every((token) => token >= 0 && token < vocabulary)) refuse('a token is outside the vocabulary')
    if (new Set(row).size !== count) refuse('a token is there twice at one place')
  }
}
