// A question with a plugin's text around it, as token ids. A plugin's text may come from a model or a peer: what would
// read as the chat template's own tokens in it is taken out.

import type { Rewrite } from '../../protocol/plugin/index.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'

type Encoder = Pick<Tokenizer, 'encode' | 'encodePrompt' | 'decodeCompletion' | 'isSpecial'>

export function conditioningOf(
  tokenizer: Encoder,
  question: string,
  { before = '', after = '' }: Pick<Rewrite, 'before' | 'after'> = {},
): Int32Array {
  return tokenizer.encodePrompt(`${plainText(tokenizer, before)}${question}${plainText(tokenizer, after)}`)
}

/** The text without what the tokenizer takes for special tokens; the same text where it has none. */
export function plainText(tokenizer: Omit<Encoder, 'encodePrompt'>, text: string): string {
  let plain = text
  // What is taken out may bring two halves of another together.
  for (let round = 0; round < 8; round++) {
    const tokens = plain === '' ? new Int32Array() : tokenizer.encode(plain)
    if (!tokens.some(tokenizer.isSpecial)) return plain
    plain = tokenizer.decodeCompletion(tokens.filter((token) => !tokenizer.isSpecial(token)))
  }
  return ''
}
