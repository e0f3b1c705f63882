// The text of an answer, piece by piece while it is written.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Attempt } from '../book/rollout.ts'

/**
 * Yields the pieces. Joined together they are the answer as the caller is shown it, and the stop string that ended it, if
 * one did.
 */
export async function* textDeltas(
  attempt: Attempt,
  tokenizer: Pick<Tokenizer, 'reader'>,
): AsyncGenerator<string> {
  const { drawn, done } = attempt
  const reader = tokenizer.reader()
  let [told, seen] = ['', 0]
  let isDone = false
  const end = (): void => {
    isDone = true
  }
  const ended = done.then(end, end)
  while (!isDone) {
    const next = waitFor(attempt)
    if (drawn.length === seen) await Promise.race([next.token, ended])
    next.stop()
    for (; seen < drawn.length; seen++) reader.read(drawn[seen]!)
    const { text } = reader
    if (text.length > told.length) yield text.slice(told.length)
    told = text
  }
  const whole = (await done).shown
  if (whole.length > told.length) yield whole.slice(told.length)
}

function waitFor({ listen }: Attempt): { token: Promise<void>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { token: promise, stop: listen(resolve) }
}
