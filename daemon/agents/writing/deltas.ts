// The text of an answer, piece by piece while it is written. A token may be only part of a character, so a piece waits
// until its characters are complete.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Attempt } from '../book/rollout.ts'

/** Yields the pieces. Joined together they are the answer as the caller is shown it. */
export async function* textDeltas(
  attempt: Attempt,
  { decodeCompletion }: Pick<Tokenizer, 'decodeCompletion'>,
): AsyncGenerator<string> {
  const { drawn, done } = attempt
  /** Tokens before `told` have been sent. Tokens from `from` on are decoded again, for decoders that look back. */
  let [from, told, seen] = [0, 0, 0]
  let text = ''
  let isDone = false
  const ended = done.then(
    () => {
      isDone = true
    },
    () => {
      isDone = true
    },
  )
  const textOf = (start: number, end: number): string =>
    decodeCompletion(Int32Array.from(drawn.slice(start, end)))
  while (!isDone) {
    const next = waitFor(attempt)
    if (drawn.length === seen) await Promise.race([next.token, ended])
    next.stop()
    const { length } = drawn
    if (length === seen) continue
    seen = length
    const before = textOf(from, told)
    const now = textOf(from, length)
    if (now.length <= before.length || now.endsWith('\ufffd')) continue
    ;[from, told] = [told, length]
    const piece = now.slice(before.length)
    text += piece
    yield piece
  }
  const whole = (await done).shown
  if (whole.length > text.length) yield whole.slice(text.length)
}

function waitFor({ listen }: Attempt): { token: Promise<void>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { token: promise, stop: listen(resolve) }
}
