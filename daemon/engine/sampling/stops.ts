// Decides which token ends a sequence: a stop token, or the token that completes a stop string in its text.

import { WaggleError } from '../../../protocol/errors.ts'
import type { GenerateRequest } from '../engine.ts'

/** True if the sequence ends with this token. Stateful, one per sequence: it remembers the end of the text. */
export type Stops = (token: number) => boolean

/** `pieces` is the text of each token id on its own. Throws E_ENGINE if it is missing and there are stop strings. */
export function createStops(
  { stopTokens, stopStrings: strings = [] }: Pick<GenerateRequest, 'stopTokens' | 'stopStrings'>,
  pieces: readonly string[] | undefined,
): () => Stops {
  const stops = new Set(stopTokens)
  if (strings.length > 0 && !pieces) {
    throw new WaggleError(
      'E_ENGINE',
      'stop strings need the text of each token, and the engine was opened without it',
    )
  }
  /** Length of the tail of text to remember: enough to find any stop string that the next token completes. */
  const kept = Math.max(0, ...strings.map((text) => text.length - 1))
  return () => {
    let tail = ''
    return (token) => {
      if (stops.has(token)) return true
      if (strings.length === 0) return false
      const text = tail + (pieces?.[token] ?? '')
      tail = kept === 0 ? '' : text.slice(-kept)
      return strings.some((stop) => text.includes(stop))
    }
  }
}
