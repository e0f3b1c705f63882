// The TensorFlow.js engine behind the engine contract, outside the caller's thread.

import type { Engine } from '../engine.ts'
import { createEngineThread, type EngineThread } from '../thread/thread.ts'

export interface TfjsEngineOptions {
  microBatchTokens?: number
}

/**
 * Creates several engines, each in its own thread if the backend can run in several threads. Rejects with E_ENGINE and
 * install instructions if TensorFlow.js is missing.
 */
export async function createTfjsEngines(count: number, options: TfjsEngineOptions = {}): Promise<Engine[]> {
  const make = (): EngineThread =>
    createEngineThread({ worker: new URL('./worker', import.meta.url), options })
  const first = make()
  const { info, oneThreadOnly } = await first.start()
  const engines = [first.engine(info)]
  while (engines.length < count) {
    const thread = oneThreadOnly ? first : make()
    engines.push(thread.engine(oneThreadOnly ? info : (await thread.start()).info))
  }
  return engines
}

export async function createTfjsEngine(options?: TfjsEngineOptions): Promise<Engine> {
  return (await createTfjsEngines(1, options))[0]!
}
