// Lets one loop wait for a change made by another, without polling and without missing a change between the
// check and the wait.

export interface Waker {
  wake(): void
  /** Number of wakes so far. Read it before checking the state, then pass it to `after`. */
  readonly count: number
  /** Resolves once there have been more than `count` wakes, or when the signal aborts. */
  after(count: number, signal: AbortSignal): Promise<void>
}

export function createWaker(): Waker {
  let waiting = new Set<() => void>()
  let total = 0
  return {
    wake() {
      total += 1
      const woken = waiting
      waiting = new Set()
      for (const resolve of woken) resolve()
    },
    get count() {
      return total
    },
    after(count, signal) {
      return new Promise((resolve) => {
        if (signal.aborted || total > count) return resolve()
        const finish = (): void => {
          signal.removeEventListener('abort', finish)
          waiting.delete(finish)
          resolve()
        }
        waiting.add(finish)
        signal.addEventListener('abort', finish, { once: true })
      })
    },
  }
}
