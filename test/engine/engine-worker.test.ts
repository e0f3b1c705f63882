import { expect, test, vi } from 'vitest'
import { openThread } from '../../daemon/engine/thread/engine-worker.ts'

test('a thread that is slow to end is not ended from outside, which can abort the whole process', async () => {
  const ended = new SharedArrayBuffer(4)
  const worker = new URL('slow-end', import.meta.url)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const thread = openThread({ worker, options: { ended } }, { onReply() {}, onEnd() {} })
    const stopped = thread.stop()
    vi.advanceTimersByTime(20_000)
    await stopped
    expect(new Int32Array(ended)[0]).toBe(1)
  } finally {
    vi.useRealTimers()
  }
})
