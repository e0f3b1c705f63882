// Tells a second request to stop from a repeat of the first: `timeout` of GNU sends its signal to the node and then to
// the node's whole group, and a terminal may send one beside it.

/** A request this soon after the first is the same one. */
const SAME_MS = 500

interface StopSignals {
  /** Whether the node was asked to stop. */
  readonly isAsked: boolean
  /** Takes a request: `stop` for the first, `exit` for one that is meant to end it at once. */
  take(): 'stop' | 'exit' | 'same'
}

export function createStopSignals({ clock }: { clock(): number }): StopSignals {
  let first: number | undefined
  return {
    get isAsked() {
      return first !== undefined
    },
    take() {
      const now = clock()
      if (first === undefined) {
        first = now
        return 'stop'
      }
      // The clock may be set back meanwhile.
      return Math.abs(now - first) < SAME_MS ? 'same' : 'exit'
    },
  }
}
