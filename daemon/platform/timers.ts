// Waits of any length. Node's timers hold at most 2^31 - 1 ms (24.8 days); a longer one would fire at once.

/** The longest wait of one timer, ms. */
const LONGEST_MS = 2 ** 31 - 1

/** Calls `run` once after `ms`, unless the returned function is called first. */
export function after(ms: number, run: () => void): () => void {
  let timer: NodeJS.Timeout
  const wait = (left: number): void => {
    timer = setTimeout(
      () => (left > LONGEST_MS ? wait(left - LONGEST_MS) : run()),
      Math.min(left, LONGEST_MS),
    )
  }
  wait(ms)
  return () => clearTimeout(timer)
}

/** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const cancel = after(ms, resolve)
  const stop = (): void => {
    cancel()
    reject(signal?.reason)
  }
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop, { once: true })
  return promise.finally(() => signal?.removeEventListener('abort', stop))
}
