// The train loop and those that wait for it.

import { expect, test } from 'vitest'
import { createWaker } from '../../daemon/rollout/waker.ts'
import type { Batch, UpdateOutcome } from '../../daemon/trainer/learning/contract.ts'
import { runTrainLoop } from '../../daemon/trainer/loop.ts'
import { NO_PHASES } from '../../protocol/api/index.ts'

test('a trainer that has become idle wakes once whoever waits for room', async () => {
  const [changed, stop] = [createWaker(), new AbortController()]
  let batches = 2
  /** Wakes so far, whenever no batch was due. */
  const idle: number[] = []
  const loop = runTrainLoop(
    {
      core: {
        async handleAlarms() {},
        async testNewcomers() {},
        nextBatch: () => (batches-- > 0 ? ({ groups: [] } as unknown as Batch) : undefined),
        train: async () => ({}) as UpdateOutcome,
      },
      changed,
      exchange: async () => {},
      phases: NO_PHASES,
      mustWait: () => false,
      monotonic: () => 0,
      sleep: async () => {},
      onBatch() {},
      async onStep() {},
      async onIdle() {
        idle.push(changed.count)
      },
      onError(error) {
        throw error
      },
    },
    stop.signal,
  )
  await expect.poll(() => idle).toEqual([2, 3])
  changed.wake()
  await expect.poll(() => idle).toEqual([2, 3, 4])
  stop.abort()
  await loop
  expect(changed.count).toBe(4)
})
