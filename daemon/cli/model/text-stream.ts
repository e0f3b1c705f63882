// Turns a stream of tokens into text. A character may need several tokens, and some tokenizers decide on a space only
// at the next token, so text that may still change is held back.

import { safeText } from '../../../protocol/text.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'

export function createTextStream(
  { tokenizer }: { tokenizer: Pick<Tokenizer, 'decodeCompletion'> },
  write: (text: string) => void,
) {
  const tokens: number[] = []
  let written = 0
  const text = () => tokenizer.decodeCompletion(Int32Array.from(tokens))
  const put = (all: string, end: number) => {
    if (end > written) write(safeText(all.slice(written, end), { limit: Number.MAX_SAFE_INTEGER }))
    written = Math.max(written, end)
  }
  return {
    push(token: number): void {
      tokens.push(token)
      const all = text()
      // U+FFFD marks an incomplete character.
      put(all, all.replace(/\ufffd+$/, '').length)
    },
    /** Call with all tokens: writes the rest and returns the whole text. */
    end(final: Int32Array): string {
      tokens.splice(0, tokens.length, ...final)
      const all = text()
      put(all, all.length)
      return all
    },
  }
}
