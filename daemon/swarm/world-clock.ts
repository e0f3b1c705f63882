// The real clock, for composition roots.

import type { Clock } from './types.ts'

export const worldClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
