// Decides when a node that is paused or held back by limits ends its engines' threads: only after some minutes, because
// starting them again takes a second or more.

interface RestTimer {
  /** Whether the node has been held for long enough. */
  readonly isDue: boolean
  close(): Promise<void>
}

interface RestTimerParts {
  /** Paused by the user, or held back by limits. */
  isHeld(): boolean
  after(ms: number, run: () => void): () => void
  /** Called once a minute while rest is due, because an evaluation may have started engines again. */
  onDue(): void
}

const LOOK_MS = 60_000
/** Number of consecutive looks at which the node must be held. */
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
