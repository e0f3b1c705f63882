// The TensorFlow.js engine behind the engine contract, in a thread of its own.

import type { Engine } from '../engine.ts'
import { createProxy } from '../proxy.ts'

export interface TfjsEngineOptions {
  microBatchTokens?: number
}

/** Rejects with E_ENGINE, and how to install it, where TensorFlow.js is missing. */
export async function createTfjsEngine(options: TfjsEngineOptions = {}): Promise<Engine> {
  const { start, engine } = createProxy({ worker: new URL('./worker', import.meta.url), options })
  return engine(await start())
}
