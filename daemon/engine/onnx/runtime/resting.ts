// Makes an engine that is idle for a while, because the node is paused or waits, release its work memory. Most of a
// node's memory is in compiled graphs; the next call compiles what it needs again.

import type { Core } from '../../core.ts'
import type { Room } from './room.ts'

/** Longer than one engine waits for the other while both have work. */
export const REST_AFTER_MS = 120_000

/** `after` calls `run` once after `ms`, unless the returned function is called first. */
export function restingWhenIdle<Wrapped extends Core>(
  core: Wrapped,
  room: Pick<Room, 'free'>,
  { after }: { after(ms: number, run: () => void): () => void },
): Wrapped {
  let running = 0
  let cancel: (() => void) | undefined
  let resting: Promise<void> | undefined
  const rest = (): void => {
    resting = room.free?.().finally(() => {
      resting = undefined
    })
  }
  const during =
    (call: (...given: unknown[]) => unknown) =>
    async (...given: unknown[]): Promise<unknown> => {
      running += 1
      cancel?.()
      try {
        // Graphs must not be used while they are released.
        await resting
        return await call(...given)
      } finally {
        running -= 1
        if (running === 0) cancel = after(REST_AFTER_MS, rest)
      }
    }
  return Object.fromEntries(
    Object.entries(core).map(([name, call]) => [name, during(call as (...given: unknown[]) => unknown)]),
  ) as unknown as Wrapped
}
