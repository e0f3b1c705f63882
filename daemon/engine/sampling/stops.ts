// Decides with which token a sequence ends: after a stop token, or when its text contains a stop string.

import { WaggleError } from '../../../protocol/errors.ts'
import type { GenerateRequest } from '../engine.ts'

/** True if the sequence ends with this token. One for each sequence: it remembers the end of its text. */
export type Stops = (token: number) => boolean

/** `pieces`: the text of each token id by itself. Throws E_ENGINE if there are stop strings and it is missing. */
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
  /** The end of the text: long enough to find any stop string that the last token completes. */
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
