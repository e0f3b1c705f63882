// A time limit by the clock that is passed in.

import type { Clock } from './types.ts'

/** Runs `work` with a signal that aborts after `ms`, or with `signal`. */
export async function within<T>(
  ms: number,
  { clock, signal }: { clock: Pick<Clock, 'after'>; signal?: AbortSignal | undefined },
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const cancel = clock.after(ms, () =>
    limit.abort(new DOMException(`not within ${ms / 1000} s`, 'TimeoutError')),
  )
  try {
    return await work(signal ? AbortSignal.any([signal, limit.signal]) : limit.signal)
  } finally {
    cancel()
  }
}
