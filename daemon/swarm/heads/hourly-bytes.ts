// Counts bytes against a limit for each hour that slides with the clock.

import type { Clock } from '../types.ts'

const HOUR_MS = 3_600_000

export interface HourlyBytes {
  /** Counts these bytes; false, and nothing is counted, if the last hour would then have more than the limit. */
  take(bytes: number): boolean
}

/** `most` is read on each use; 0 means no limit. */
export function createHourlyBytes({ most }: { most(): number }, { clock }: { clock: Clock }): HourlyBytes {
  let taken: { at: number; bytes: number }[] = []
  return {
    take(bytes) {
      const now = clock.now()
      // After the clock was set back, what lies in the future no longer counts.
      taken = taken.filter(({ at }) => at <= now && at > now - HOUR_MS)
      const limit = most()
      const used = taken.reduce((sum, one) => sum + one.bytes, 0)
      if (limit > 0 && used + bytes > limit) return false
      taken.push({ at: now, bytes })
      return true
    },
  }
}
