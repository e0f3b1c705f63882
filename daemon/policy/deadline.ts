// A time limit for synchronous code whose cost a downloaded file decides: a chat template may loop for ever, a
// tokenizer's regular expression may backtrack for ever. V8 can end running code only from a watchdog thread, which
// `vm` has; the code itself still runs in this realm. A call costs about 0.1 ms more.

import { createContext, Script } from 'node:vm'
import { WaggleError } from '../../protocol/errors.ts'

export class DeadlineError extends WaggleError {}

const script = new Script('run()')
const context = createContext({ run: undefined as (() => void) | undefined })

/**
 * Gives what `run` gives, and throws what it throws; DeadlineError, naming `what`, if it takes longer than that.
 * Not for code that calls this again.
 */
export function withDeadline<Result>(what: string, milliseconds: number, run: () => Result): Result {
  let outcome: { result: Result } | { error: unknown } | undefined
  context.run = () => {
    try {
      outcome = { result: run() }
    } catch (error) {
      outcome = { error }
    }
  }
  try {
    script.runInContext(context, { timeout: milliseconds })
  } catch (cause) {
    // Termination passes by every catch in `run`.
    throw new DeadlineError('E_MODEL', `${what} takes longer than ${milliseconds} ms`, {
      hint: 'It was stopped. Published models need a few milliseconds: do not trust this file.',
      cause,
    })
  } finally {
    context.run = undefined
  }
  if (!outcome || 'error' in outcome) throw outcome?.error
  return outcome.result
}
