// Keeps the cuts that reach an engine's thread for the calls that they belong to. A cut overtakes waiting calls, so it
// may arrive before its call. A cut that arrives after its call has ended is ignored.

import type { Cut } from './messages.ts'

export interface Cuts {
  /** A call has arrived. Ids only increase. */
  begin(id: number): void
  isAborted(id: number): boolean
  /** Samples of this call that were cut since the last time. */
  newCuts(id: number): readonly number[]
  end(id: number): void
}

export function createCuts(arrived: () => readonly Cut[]): Cuts {
  const underway = new Set<number>()
  let latest = 0
  const aborted = new Set<number>()
  const samplesOf = new Map<number, number[]>()
  const receive = (): void => {
    for (const { id, samples } of arrived()) {
      if (id <= latest && !underway.has(id)) continue
      if (samples === undefined) aborted.add(id)
      else samplesOf.set(id, [...(samplesOf.get(id) ?? []), ...samples])
    }
  }
  return {
    begin(id) {
      underway.add(id)
      latest = Math.max(latest, id)
    },
    isAborted(id) {
      receive()
      return aborted.has(id)
    },
    newCuts(id) {
      receive()
      const found = samplesOf.get(id) ?? []
      samplesOf.delete(id)
      return found
    },
    end(id) {
      underway.delete(id)
      aborted.delete(id)
      samplesOf.delete(id)
    },
  }
}
