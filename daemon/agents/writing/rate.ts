// How many tokens a second there were lately.

/** Seconds that are looked back on. */
const WINDOW_S = 10

export interface Rate {
  add(count: number): void
  perSecond(): number
}

export function createRate({ monotonic }: { monotonic(): number }): Rate {
  /** Counts by second. */
  const counts = new Map<number, number>()
  const second = (): number => Math.floor(monotonic() / 1000)
  const forget = (now: number): void => {
    for (const at of counts.keys()) if (at <= now - WINDOW_S) counts.delete(at)
  }
  return {
    add(count) {
      const now = second()
      forget(now)
      counts.set(now, (counts.get(now) ?? 0) + count)
    },
    perSecond() {
      forget(second())
      return [...counts.values()].reduce((sum, count) => sum + count, 0) / WINDOW_S
    },
  }
}
