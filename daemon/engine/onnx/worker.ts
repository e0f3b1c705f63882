// The ONNX engine's thread.

import { serveCore } from '../worker.ts'
import { createCore } from './core.ts'
import type { OnnxEngineOptions } from './index.ts'

serveCore<OnnxEngineOptions>((options) => ({
  createCore: () => createCore({ ...options, now: () => performance.now() }),
}))
