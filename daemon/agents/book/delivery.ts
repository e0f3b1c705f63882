// What became of an answer. Requests wait for it, and it is delivered when one of them has got all of it. If the last of
// them goes away before that, the client has some time to ask again; then the answer is abandoned.

export interface Delivery {
  /** `lost`: nobody waits for the answer, and nobody has got it. */
  readonly state: 'pending' | 'delivered' | 'lost'
  /** A request waits for the answer. */
  wait(): Waiting
  /** The answer is written or has failed, so it can no longer be abandoned. */
  close(): void
}

/** Only the first of these calls counts. */
export interface Waiting {
  got(): void
  left(): void
}

interface DeliveryParts {
  after(ms: number, run: () => void): () => void
  onAbandoned(): void
}

export function createDelivery({ graceMs }: { graceMs: number }, parts: DeliveryParts): Delivery {
  let state: Delivery['state'] = 'pending'
  let waiting = 0
  let isClosed = false
  let cancel = (): void => {}
  return {
    get state() {
      return state
    },
    wait() {
      waiting += 1
      cancel()
      if (state === 'lost') state = 'pending'
      let isOver = false
      const end = (hasGot: boolean): void => {
        if (isOver) return
        isOver = true
        waiting -= 1
        if (hasGot) state = 'delivered'
        if (waiting > 0 || state === 'delivered') return
        state = 'lost'
        if (!isClosed) cancel = parts.after(graceMs, parts.onAbandoned)
      }
      return { got: () => end(true), left: () => end(false) }
    },
    close() {
      isClosed = true
      cancel()
    },
  }
}
