// Lets one loop wait until another has changed something, without polling and without missing a change that comes
// between looking and waiting.

export interface Waker {
  wake(): void
  /** Number of wakes so far: take it before looking, and hand it to `after`. */
  readonly count: number
  /** Resolves once there have been more wakes than `count`, or when the signal aborts. */
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
