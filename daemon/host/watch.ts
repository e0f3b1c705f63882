// Terminates hooks of outside plugins that never yield. They block the node's only JavaScript thread, so a
// watchdog thread measures how long they have run and makes V8 terminate the execution.
//
// Termination unwinds the whole stack without running any `catch` or `finally`, and drops pending microtasks.
// So a hook starts from the event loop, with nothing else on the stack or in the queue; only the hook is
// lost. The same holds for code that follows a call of its context. Code that runs after the hook awaited
// anything else is not watched.

import { Worker } from 'node:worker_threads'

export interface Watch {
  /**
   * Runs a hook under the watchdog. The promise never settles if the hook is terminated, so the caller needs
   * a timeout.
   */
  guard<T>(limitMs: number, hook: () => T | Promise<T>): Promise<T>
  /** Watches the hook from when it resumes until the next turn of the event loop. */
  resumed(limitMs: number): void
  close(): Promise<void>
}

/** Indices into the shared memory: number of the current run (0: none), and its limit in milliseconds. */
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
      // If the watchdog thread fails, hooks still run, but unwatched.
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
