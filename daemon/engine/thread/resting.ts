// An engine whose thread ends while nobody needs it, because the node is paused or waits. The next call starts a new
// thread and opens the model again. Only ending the thread gives back all its memory: the JavaScript heap, compiled
// graphs, and the runtime's own memory.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Engine, Resting } from '../engine.ts'
import type { OpenRequest } from '../opening.ts'

/** `start` creates an engine that does not hold a model yet. */
export function createRestingEngine(start: () => Engine): Engine & Resting {
  let engine = start()
  /** Set while no engine runs: what the next one will be opened with. */
  let reopen: (() => Promise<OpenRequest>) | undefined
  /** Set while an engine is being closed or opened. */
  let changing: Promise<void> | undefined
  let calls = 0

  const change = (run: () => Promise<void>): Promise<void> => {
    changing = run().finally(() => {
      changing = undefined
    })
    return changing
  }
  const wakeUp = async (): Promise<void> => {
    const request = await reopen!()
    const next = start()
    try {
      await next.open(request)
    } catch (error) {
      await next.close().catch(() => {})
      throw error
    }
    engine = next
    reopen = undefined
  }
  /** Calls reach the running engine in the order in which they were made. */
  const during = async <T>(call: (engine: Engine) => T | Promise<T>): Promise<T> => {
    calls += 1
    try {
      while (changing || reopen) await (changing ?? change(wakeUp))
      return await call(engine)
    } finally {
      calls -= 1
    }
  }

  return {
    info: engine.info,
    open: (request) => during((one) => one.open(request)),
    generate: (request, options) => during((one) => one.generate(request, options)),
    score: (request) => during((one) => one.score(request)),
    train: (request) => during((one) => one.train(request)),
    gradient: (request) => during((one) => one.gradient(request)),
    vectors: () => during((one) => one.vectors()),
    combine: (request) => during((one) => one.combine(request)),
    dot: (request) => during((one) => one.dot(request)),
    norm: (request) => during((one) => one.norm(request)),
    step: (request) => during((one) => one.step(request)),
    weights: () => during((one) => one.weights()),
    setWeights: (...given: Parameters<Engine['setWeights']>) => during((one) => one.setWeights(...given)),
    optimizer: () => during((one) => one.optimizer()),
    processorSeconds: () => during((one) => one.processorSeconds()),
    wake: () => during(() => {}),
    async rest(again) {
      if (calls > 0 || changing || reopen) return
      reopen = again
      // If closing fails, that does not matter: the state is saved elsewhere and the engine is no longer needed.
      await change(() => engine.close().catch(() => {}))
    },
    async close() {
      await changing?.catch(() => {})
      if (!reopen) return engine.close()
      reopen = async () => {
        throw new WaggleError('E_ENGINE', 'the engine is closed')
      }
    },
  }
}
