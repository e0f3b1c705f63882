// Encodes a question with a plugin's text around it. That text may come from a model or a peer, so special
// tokens of the chat template are removed from it.

import type { Rewrite } from '../../../protocol/plugin/index.ts'
import type { Asked } from '../../../protocol/train/index.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'

type Encoder = Pick<Tokenizer, 'encode' | 'encodePrompt' | 'decodeCompletion' | 'isSpecial'>

export function conditioningOf(
  tokenizer: Encoder,
  { question, examples }: Asked,
  { before = '', after = '' }: Pick<Rewrite, 'before' | 'after'> = {},
): Int32Array {
  const text = `${plainText(tokenizer, before)}${question}${plainText(tokenizer, after)}`
  return tokenizer.encodePrompt(text, examples)
}

/** The text without special tokens; unchanged if it has none. */
export function plainText(tokenizer: Omit<Encoder, 'encodePrompt'>, text: string): string {
  let plain = text
  // Removing one special token may join two halves of another.
  for (let round = 0; round < 8; round++) {
    const tokens = plain === '' ? new Int32Array() : tokenizer.encode(plain)
    if (!tokens.some(tokenizer.isSpecial)) return plain
    plain = tokenizer.decodeCompletion(tokens.filter((token) => !tokenizer.isSpecial(token)))
  }
  return ''
}
