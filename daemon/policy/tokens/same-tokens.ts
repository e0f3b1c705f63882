// How the tokens of two models compare: whether ids mean the same bytes, whatever the chat templates are.

import type { DecoderSpec } from '../../engine/decoder.ts'
import type { Tokenizer } from './tokenizer.ts'

interface TokensOf {
  tokenizer: Pick<Tokenizer, 'stopTokens' | 'tokenBytes' | 'endOfTurn'>
  /** A vocabulary may be padded. */
  spec: Pick<DecoderSpec, 'vocabulary'>
}

/**
 * The ids that both have, all those below a number. Undefined unless each id stands for the same bytes in both, and what
 * ends a turn in either ends an answer of the other.
 */
export function sharedTokens(first: TokensOf, second: TokensOf): number | undefined {
  const ends = ({ tokenizer }: TokensOf, of: TokensOf): boolean =>
    tokenizer.stopTokens.includes(of.tokenizer.endOfTurn())
  if (!ends(first, second) || !ends(second, first)) return undefined
  const vocabulary = Math.max(first.spec.vocabulary, second.spec.vocabulary)
  const [a, b] = [first.tokenizer.tokenBytes(vocabulary), second.tokenizer.tokenBytes(vocabulary)]
  const isSame = Buffer.compare(a.bytes, b.bytes) === 0 && a.ends.every((end, token) => end === b.ends[token])
  return isSame ? Math.min(first.spec.vocabulary, second.spec.vocabulary) : undefined
}
