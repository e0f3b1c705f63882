// Counts bytes against a limit for each hour that slides with the clock, in bounded memory.

import type { Clock } from '../types.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

interface HourlyBytes {
  /**
   * Counts these bytes, or nothing and gives undefined if the last hour would then have more than the limit. Call what
   * it gives with the bytes that were not used after all.
   */
  take(bytes: number): ((unused: number) => void) | undefined
}

/** `most` is read on each use; 0 means no limit. */
export function createHourlyBytes({ most }: { most(): number }, { clock }: { clock: Clock }): HourlyBytes {
  /** One for each minute; a minute counts until an hour after its last byte. */
  let minutes: { from: number; to: number; bytes: number }[] = []
  return {
    take(bytes) {
      const now = clock.now()
      // After the clock was set back, what lies in the future no longer counts.
      minutes = minutes.filter(({ to }) => to <= now && to > now - HOUR_MS)
      const limit = most()
      const used = minutes.reduce((sum, minute) => sum + minute.bytes, 0)
      if (limit > 0 && used + bytes > limit) return undefined
      let minute = minutes.at(-1)
      if (minute === undefined || now - minute.from >= MINUTE_MS) {
        minute = { from: now, to: now, bytes: 0 }
        minutes.push(minute)
      }
      minute.to = now
      minute.bytes += bytes
      const counted = minute
      return (unused) => {
        counted.bytes -= unused
      }
    },
  }
}
