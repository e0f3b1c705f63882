// The ONNX engine's thread or process.

import { serveCore } from '../thread/worker.ts'
import { createCore } from './core.ts'
import type { OnnxEngineOptions } from './index.ts'
import { createResidentCore } from './resident/core.ts'
import { PROVIDERS } from './runtime/provider.ts'
import { restingWhenIdle } from './runtime/resting.ts'
import { DEFAULT_SLOTS, type Room, withinRoom } from './runtime/room.ts'

/** On the CPU, small enough for activations to stay in its cache. A device is used better by larger micro-batches. */
const MICRO_BATCH_TOKENS = { host: 2048, device: 8192 }

const after = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms).unref()
  return () => clearTimeout(timer)
}

serveCore<OnnxEngineOptions>((options, { notify }) => {
  const { provider = 'cpu', isResident = PROVIDERS[provider].heldIn !== 'cpu' } = options
  const now = (): number => performance.now()
  return {
    // A run on a device blocks the thread until it is done, so engines take turns after each run.
    interleaves: true,
    createCore() {
      const { microBatchTokens = MICRO_BATCH_TOKENS[provider === 'cpu' ? 'host' : 'device'] } = options
      const room: Room = { microBatchTokens, slots: DEFAULT_SLOTS }
      const make = isResident ? createResidentCore : createCore
      return restingWhenIdle(withinRoom(make({ ...options, provider, room, now }), room, { notify }), room, {
        after,
      })
    },
  }
})
