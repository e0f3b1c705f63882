// Whether the token ids of two models mean the same bytes, whatever their chat templates are.

import type { DecoderSpec } from '../../engine/decoder.ts'
import type { Tokenizer } from './tokenizer.ts'

interface TokensOf {
  tokenizer: Pick<Tokenizer, 'stopTokens' | 'tokenBytes'>
  /** A vocabulary may be padded. */
  spec: Pick<DecoderSpec, 'vocabulary'>
}

/**
 * The ids that both have, all those below a number. Undefined unless each id stands for the same bytes in both, and the
 * first's end of a turn is one in the second.
 */
export function sharedTokens(first: TokensOf, second: TokensOf): number | undefined {
  if (!second.tokenizer.stopTokens.includes(first.tokenizer.stopTokens[0]!)) return undefined
  const vocabulary = Math.max(first.spec.vocabulary, second.spec.vocabulary)
  const [a, b] = [first.tokenizer.tokenBytes(vocabulary), second.tokenizer.tokenBytes(vocabulary)]
  const isSame = Buffer.compare(a.bytes, b.bytes) === 0 && a.ends.every((end, token) => end === b.ends[token])
  return isSame ? Math.min(first.spec.vocabulary, second.spec.vocabulary) : undefined
}
