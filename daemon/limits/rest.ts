// When a node that is paused, or that its limits hold back, ends its engines' threads: after some minutes, because starting
// them again takes a second or more.

export interface RestTimer {
  /** Whether the node has been held for long enough. */
  readonly isDue: boolean
  close(): Promise<void>
}

export interface RestTimerParts {
  /** Paused by the user, or held back by limits. */
  isHeld(): boolean
  after(ms: number, run: () => void): () => void
  /** Called once a minute while rest is due: an evaluation may have started engines again. */
  onDue(): void
}

const LOOK_MS = 60_000
/** Looks in a row at which the node was held. */
const LOOKS = 2

export function createRestTimer({ isHeld, after, onDue }: RestTimerParts): RestTimer {
  let held = 0
  const isDue = (): boolean => held >= LOOKS && isHeld()
  const look = (): void => {
    held = isHeld() ? held + 1 : 0
    cancel = after(LOOK_MS, look)
    if (isDue()) onDue()
  }
  let cancel = after(LOOK_MS, look)
  return {
    get isDue() {
      return isDue()
    },
    async close() {
      cancel()
    },
  }
}
