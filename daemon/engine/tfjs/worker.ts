// The TensorFlow.js engine's thread.

import { availableParallelism } from 'node:os'
import { serveCore } from '../thread/worker.ts'
import { openBackend } from './backend.ts'
import { createCore } from './core.ts'
import type { TfjsEngineOptions } from './index.ts'

serveCore<TfjsEngineOptions>(async ({ microBatchTokens }) => {
  const { tf, device, reason, isNative } = await openBackend()
  // TensorFlow's own pool has one thread per core; the other backends compute in this thread.
  const threads = isNative ? availableParallelism() : 1
  return {
    createCore: () => createCore({ tf, microBatchTokens, now: () => performance.now() }),
    // The native addon registers itself only when it is first loaded, so it works in one thread only (tensorflow/tfjs
    // #8388).
    report: { info: { kind: 'tfjs', device, reason, threads }, oneThreadOnly: isNative },
  }
})
