// If memory runs out, the call does not fail: it is retried with half the micro-batch tokens or half the sequences
// side by side, and the smaller size is remembered. This changes only the order of sums.

import type { Core } from '../core.ts'
import { createAttempts } from '../thread/attempts.ts'
import { troubleOf } from './failure.ts'

/** Limits on what is computed at once; shared with the core. */
export interface Room {
  /** Tokens of a micro-batch, padding included. */
  microBatchTokens: number
  /** Most sequences that are decoded side by side. */
  slots: number
  /** Set by the core: frees memory that is cached for later calls. */
  free?: () => Promise<void>
}

export const DEFAULT_SLOTS = 64

/** Smaller sizes are not tried. */
const LEAST = { microBatchTokens: 32, slots: 4 } as const
type Portion = keyof typeof LEAST

export function withinRoom<Wrapped extends Core>(
  core: Wrapped,
  room: Room,
  { notify }: { notify: (message: string) => void },
): Wrapped {
  const portioned = async <T>(what: Portion, name: string, run: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await run()
      } catch (error) {
        if (troubleOf(error) !== 'memory' || room[what] <= LEAST[what]) throw error
        room[what] = Math.max(LEAST[what], Math.floor(room[what] / 2))
        notify(`out of memory: from now on ${name} ${room[what]}`)
        await room.free?.()
      }
    }
  }
  const inMicroBatches = <T>(run: () => Promise<T>): Promise<T> =>
    portioned('microBatchTokens', 'tokens of a micro-batch at most', run)
  return {
    ...core,
    train: (request) => inMicroBatches(() => core.train(request)),
    gradient: (request) => inMicroBatches(() => core.gradient(request)),
    score: (request) => inMicroBatches(() => core.score(request)),
    generate(request, { isAborted, newCuts, takeWeights, ...tell } = {}) {
      const next = createAttempts(request, tell)
      return portioned('slots', 'sequences side by side at most', async () => {
        const { request: rest, placesOf, joined, ...told } = next()
        const slots = Math.min(request.slots ?? room.slots, room.slots)
        const steering = {
          ...told,
          ...(isAborted ? { isAborted } : {}),
          ...(takeWeights ? { takeWeights } : {}),
          ...(newCuts ? { newCuts: () => placesOf(newCuts()) } : {}),
        }
        return joined(await core.generate({ ...rest, slots }, steering))
      })
    },
  }
}
