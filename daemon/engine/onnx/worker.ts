// The ONNX engine's thread or process.

import { serveCore } from '../thread/worker.ts'
import { createCore, roomOf } from './core.ts'
import type { OnnxEngineOptions } from './index.ts'
import { restingWhenIdle } from './runtime/resting.ts'
import { withinRoom } from './runtime/room.ts'

const after = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms).unref()
  return () => clearTimeout(timer)
}

serveCore<OnnxEngineOptions>((options, { notify }) => {
  return {
    // A run on a device blocks the thread until it is done, so engines take turns after each run.
    interleaves: true,
    createCore() {
      const room = roomOf(options)
      const core = createCore({ ...options, room, now: () => performance.now() })
      return restingWhenIdle(withinRoom(core, room, { notify }), room, { after })
    },
  }
})
