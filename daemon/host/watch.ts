// Ends hooks that compute without end: they have the node's only thread, so another thread looks at how long they have had
// it, and has V8 terminate what runs there. For plugins from outside alone.
//
// Termination unwinds the whole stack without running any `catch` or `finally`, and drops the microtasks that wait. So a
// hook is begun from the event loop with nothing else on the stack or in the queue: what is lost is the hook's. The same
// holds for what follows a call of its context. After it has waited for something else, it is out of reach.

import { Worker } from 'node:worker_threads'

export interface Watch {
  /** Runs it as said above. The promise never settles if it is ended: who calls this must not wait longer than the limit. */
  guard<T>(limitMs: number, hook: () => T | Promise<T>): Promise<T>
  /** Watches what the hook does next, until the event loop turns. */
  resumed(limitMs: number): void
  close(): Promise<void>
}

/** Cells of what both threads see: which run this is (0: none), and its limit in milliseconds. */
const RUN = 0
const LIMIT = 1
const EVERY_MS = 100

const WATCHER = `
const { workerData: cells } = require('node:worker_threads')
const { Session } = require('node:inspector')
let seen = 0
let since = 0
setInterval(() => {
  const run = Atomics.load(cells, ${RUN})
  if (run === 0 || run !== seen) {
    seen = run
    since = performance.now()
    return
  }
  if (performance.now() - since < Atomics.load(cells, ${LIMIT})) return
  if (Atomics.compareExchange(cells, ${RUN}, run, 0) !== run) return
  const session = new Session()
  session.connectToMainThread()
  session.post('Runtime.terminateExecution', () => session.disconnect())
}, ${EVERY_MS})
`

export function createWatch(): Watch {
  const cells = new Int32Array(new SharedArrayBuffer(8))
  let worker: Worker | undefined
  let runs = 0
  const enter = (limitMs: number): void => {
    if (!worker) {
      worker = new Worker(WATCHER, { eval: true, workerData: cells, env: {}, execArgv: [] })
      worker.unref()
      // Without it hooks are as unwatched as they were before.
      worker.on('error', () => {})
    }
    Atomics.store(cells, LIMIT, Math.ceil(limitMs))
    runs = (runs % 1_000_000_000) + 1
    Atomics.store(cells, RUN, runs)
  }
  const leave = (): void => void Atomics.store(cells, RUN, 0)

  return {
    async guard(limitMs, hook) {
      await new Promise((resolve) => setImmediate(resolve))
      enter(limitMs)
      try {
        return hook()
      } finally {
        leave()
      }
    },
    resumed(limitMs) {
      enter(limitMs)
      setImmediate(leave)
    },
    async close() {
      await worker?.terminate()
    },
  }
}
