// The ONNX engine's thread.

import { serveCore } from '../worker.ts'
import { createCore } from './core.ts'
import type { OnnxEngineOptions } from './index.ts'
import { PROVIDERS } from './provider.ts'
import { createResidentCore } from './resident/core.ts'

serveCore<OnnxEngineOptions>((options) => {
  const { provider = 'cpu', isResident = PROVIDERS[provider].heldIn !== 'cpu' } = options
  const now = (): number => performance.now()
  return {
    createCore: () =>
      isResident
        ? createResidentCore({ ...options, provider, now })
        : createCore({ ...options, provider, now }),
  }
})
