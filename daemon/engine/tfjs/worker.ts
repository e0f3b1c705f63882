// The TensorFlow.js engine's thread.

import { availableParallelism } from 'node:os'
import { serveCore } from '../worker.ts'
import { openBackend } from './backend.ts'
import { createCore } from './core.ts'
import type { TfjsEngineOptions } from './index.ts'

serveCore<TfjsEngineOptions>(async ({ microBatchTokens }) => {
  const { tf, device, reason, isNative } = await openBackend()
  const core = createCore({ tf, microBatchTokens, now: () => performance.now() })
  return { core, info: { kind: 'tfjs', device, reason, threads: isNative ? availableParallelism() : 1 } }
})
