// The tokenizer for peers' rollouts. It refuses to decode ids outside the vocabulary, and special tokens within a text.

import { remembered } from './remembered.ts'
import type { Tokenizer } from './tokenizer.ts'

const REPLIES = 1024

/** `context` is the model's context length in tokens. */
export function codecOf(tokenizer: Tokenizer, vocabulary: number, context = Number.POSITIVE_INFINITY) {
  const stops = new Set(tokenizer.stopTokens)
  return {
    tokenizer: tokenizer.digest,
    context,
    encodePrompt: tokenizer.encodePrompt,
    encodeReply: remembered(tokenizer.encodeReply, REPLIES),
    encodeCompletion: tokenizer.encodeCompletion,
    stopTokens: tokenizer.stopTokens,
    decodeCompletion(ids: Int32Array): string | undefined {
      for (const [i, id] of ids.entries()) {
        if (id < 0 || id >= vocabulary) return undefined
        const atEnd = i === ids.length - 1
        if (tokenizer.isSpecial(id) && !(atEnd && stops.has(id))) return undefined
      }
      return tokenizer.decodeCompletion(ids)
    },
  }
}
