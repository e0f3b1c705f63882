// Checks what a teacher says, wherever it comes from.

import { WaggleError } from '../errors.ts'
import type { TopTokens } from './teacher.ts'

/** Throws E_ENGINE unless it is K different tokens of the vocabulary at each place, with possible log-probs. */
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
