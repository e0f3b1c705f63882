// The text of an answer that is still being written. A token may be only part of a character, so text waits until its
// characters are complete. Only new tokens are decoded, and a few before them, for decoders that look back.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'

/** Returns a function that returns the text so far. `drawn` is the same list each time, with more at its end. */
export function textReader({
  decodeCompletion,
}: Pick<Tokenizer, 'decodeCompletion'>): (drawn: readonly number[]) => string {
  /** Tokens before `read` are in the text. Tokens from `from` on are decoded again. */
  let [from, read, text] = [0, 0, '']
  return (drawn) => {
    const { length } = drawn
    if (length === read) return text
    const textOf = (end: number): string => decodeCompletion(Int32Array.from(drawn.slice(from, end)))
    const before = textOf(read)
    const now = textOf(length)
    if (now.length <= before.length || now.endsWith('\ufffd')) return text
    ;[from, read] = [read, length]
    text += now.slice(before.length)
    return text
  }
}
