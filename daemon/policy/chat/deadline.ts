// A time limit for synchronous code that a downloaded file controls: a chat template may loop forever, and a
// tokenizer's regular expression may backtrack forever. V8 can stop running code only from a watchdog thread, which
// `vm` provides; the code itself still runs in this realm. This adds about 0.1 ms per call.
//
// The watchdog measures wall-clock time, which also passes while the machine sleeps or other programs use the
// processor. So when it fires, the thread's processor time decides: if that is below the limit, the code runs again
// with more wall-clock time. The code must therefore be safe to run twice.

import { readFileSync } from 'node:fs'
import { createContext, Script } from 'node:vm'
import { WaggleError } from '../../../protocol/errors.ts'

class DeadlineError extends WaggleError {}

/** Even a thread with a core of its own gets slightly less processor time than wall-clock time. */
const NEARLY = 0.8

const script = new Script('run()')
const context = createContext({ run: undefined as (() => void) | undefined })

/**
 * Returns what `run` returns and throws what it throws. Throws a DeadlineError that names `what` once `run` has
 * computed for longer than the limit. `computed` returns the processor time that this thread has used so far, in
 * milliseconds. `run` must not call `withDeadline` itself.
 */
export function withDeadline<Result>(
  what: string,
  milliseconds: number,
  run: () => Result,
  { computed = () => threadTime() }: { computed?: () => number } = {},
): Result {
  for (let patience = milliseconds; ; patience *= 2) {
    const before = computed()
    const outcome = attempt(patience, run)
    if ('error' in outcome) throw outcome.error
    if ('result' in outcome) return outcome.result
    if (computed() - before >= NEARLY * milliseconds) {
      throw new DeadlineError('E_MODEL', `${what} takes more than ${milliseconds / 1000} s to compute`, {
        hint: 'It was stopped: an expression or a loop in it may never end. Published models need a few milliseconds, so check where this model comes from, or download it again.',
        cause: outcome.stopped,
      })
    }
  }
}

type Outcome<Result> = { result: Result } | { error: unknown } | { stopped: unknown }

function attempt<Result>(timeout: number, run: () => Result): Outcome<Result> {
  let outcome: Outcome<Result> | undefined
  context.run = () => {
    try {
      outcome = { result: run() }
    } catch (error) {
      outcome = { error }
    }
  }
  try {
    script.runInContext(context, { timeout })
  } catch (stopped) {
    // No `catch` inside `run` can stop the termination.
    return { stopped }
  } finally {
    context.run = undefined
  }
  return outcome!
}

/**
 * Processor time of this thread, ms. Node.js measures it from version 23.9 on; before that, Linux does. Elsewhere, it is
 * the time of the whole process, its other threads included.
 */
export function threadTime(by: Partial<Pick<NodeJS.Process, 'threadCpuUsage'>> = process): number {
  const measured = by.threadCpuUsage ? undefined : linuxTime()
  if (measured !== undefined) return measured
  const { user, system } = (by.threadCpuUsage ?? process.cpuUsage)()
  return (user + system) / 1000
}

/** The file's first number is this thread's time on a processor, ns. A synchronous read is made by the thread itself. */
function linuxTime(): number | undefined {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6 || undefined
  } catch {
    return undefined
  }
}
