// The ONNX engine behind the engine contract, in a thread of its own.

import type { Engine } from '../engine.ts'
import { createEngineThread } from '../thread.ts'

export interface OnnxEngineOptions {
  threads: number
  microBatchTokens?: number
  maxSessions?: number
}

export function createOnnxEngine(options: OnnxEngineOptions): Engine {
  // ONNX Runtime reports its use to its maker otherwise. Set on this thread: a worker's environment is a copy, which
  // native code does not see.
  process.env.ORT_DISABLE_TELEMETRY ??= '1'
  const { engine } = createEngineThread({ worker: new URL('./worker', import.meta.url), options })
  return engine({
    kind: 'onnx',
    device: 'cpu',
    reason: 'this version drives no other device',
    threads: options.threads,
  })
}
