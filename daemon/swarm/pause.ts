// Waits on the swarm's clock.

import type { Clock } from './types.ts'

/** Resolves after `ms`, or at once when the signal is aborted. */
export function pause(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(ms, done)
    if (signal?.aborted) done()
    else signal?.addEventListener('abort', done)
  })
}
