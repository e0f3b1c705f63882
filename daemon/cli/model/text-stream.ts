// Turns a stream of tokens into text. A character may need several tokens, so it waits for all of them.

import { safeText } from '../../../protocol/text.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'

export function createTextStream(
  { tokenizer }: { tokenizer: Pick<Tokenizer, 'decodeCompletion' | 'reader'> },
  write: (text: string) => void,
) {
  const reader = tokenizer.reader()
  let written = 0
  const put = (all: string) => {
    if (all.length > written) write(safeText(all.slice(written), { limit: Number.MAX_SAFE_INTEGER }))
    written = Math.max(written, all.length)
  }
  return {
    push(token: number): void {
      reader.read(token)
      put(reader.text)
    },
    /** Call with all tokens: writes the rest and returns the whole text. */
    end(final: Int32Array): string {
      const all = tokenizer.decodeCompletion(final)
      put(all)
      return all
    },
  }
}
