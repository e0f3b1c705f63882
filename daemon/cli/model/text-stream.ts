// Tokens to text as they come. A character may need several tokens, and some tokenizers decide about a space only when
// they see what is next, so what could still change is held back.

import { safeText } from '../../../protocol/text.ts'
import type { Tokenizer } from '../../policy/tokenizer.ts'

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
      // U+FFFD stands for bytes whose character is not whole yet.
      put(all, all.replace(/\ufffd+$/, '').length)
    },
    /** All tokens are known: what was held back comes out. Gives the whole text. */
    end(final: Int32Array): string {
      tokens.splice(0, tokens.length, ...final)
      const all = text()
      put(all, all.length)
      return all
    },
  }
}
