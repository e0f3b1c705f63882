// Runs a plugin's code with a time limit. What waits for ever ends at the limit, and so does what computes for ever.

import { createWatch } from '../../host/watch.ts'

/** Node's longest hook takes milliseconds; a check calls a few hundred. */
const LIMIT_MS = 10_000
export const TOO_LONG = 'took longer than'

/** Rejects if it takes longer than the limit. */
export async function timed<Result>(run: () => Promise<Result>, limitMs = LIMIT_MS): Promise<Result> {
  const watch = createWatch()
  let timer: NodeJS.Timeout | undefined
  const overrun = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${TOO_LONG} ${limitMs / 1000} s: a hook computes or waits for ever`)),
      limitMs,
    )
  })
  try {
    return await Promise.race([overrun, started(run, limitMs, watch)])
  } finally {
    clearTimeout(timer)
    await watch.close()
  }
}

/** Starts from the event loop: a termination drops all that is on the stack and in the queue. */
function started<Result>(
  run: () => Promise<Result>,
  limitMs: number,
  watch: ReturnType<typeof createWatch>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      watch.resumed(limitMs)
      run().then(resolve, reject)
    })
  })
}
