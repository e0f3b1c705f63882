// The train loop and those that wait for it.

import { afterEach, expect, test } from 'vitest'
import { createWaker } from '../../daemon/rollout/waker.ts'
import type { Batch, UpdateOutcome } from '../../daemon/trainer/learning/contract.ts'
import { runTrainLoop } from '../../daemon/trainer/loop.ts'
import { NO_PHASES } from '../../protocol/api/index.ts'
import { startLooped } from './looped-node.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

type Parts = Parameters<typeof runTrainLoop>[0]

/** A loop with so many batches; `given` says what is different. */
function partsWith(batches: number, given: Partial<Parts>): Parts {
  let left = batches
  return {
    core: {
      async handleAlarms() {},
      async testNewcomers() {},
      nextBatch: () => (left-- > 0 ? ({ groups: [] } as unknown as Batch) : undefined),
      train: async () => ({}) as UpdateOutcome,
    },
    changed: createWaker(),
    exchange: async () => {},
    phases: NO_PHASES,
    mustWait: () => false,
    monotonic: () => 0,
    sleep: async () => {},
    onBatch() {},
    async onStep() {},
    async onIdle() {},
    onError(error) {
      throw error
    },
    ...given,
  }
}

test('a node that is stopped while it joins weights takes no further step', async () => {
  const stop = new AbortController()
  let steps = 0
  const parts = partsWith(2, {
    exchange: async () => stop.abort(),
    async onStep() {
      steps++
    },
  })
  await runTrainLoop(parts, stop.signal)
  expect(steps).toBe(0)
})

test('a trainer that has become idle wakes once whoever waits for room', async () => {
  const [changed, stop] = [createWaker(), new AbortController()]
  /** Wakes so far, whenever no batch was due. */
  const idle: number[] = []
  const parts = partsWith(2, {
    changed,
    async onIdle() {
      idle.push(changed.count)
    },
  })
  const loop = runTrainLoop(parts, stop.signal)
  await expect.poll(() => idle).toEqual([2, 3])
  changed.wake()
  await expect.poll(() => idle).toEqual([2, 3, 4])
  stop.abort()
  await loop
  expect(changed.count).toBe(4)
})

test('whoever waits for room is woken once no batch is due, although the node had to wait after its last step', async () => {
  const [changed, stop] = [createWaker(), new AbortController()]
  let [mustWait, isAsked] = [false, false]
  const parts = partsWith(1, { changed, mustWait: () => mustWait })
  const { nextBatch } = parts.core
  parts.core.nextBatch = () => {
    const batch = nextBatch()
    isAsked ||= batch === undefined
    return batch
  }
  parts.onStep = async () => {
    mustWait = true
  }
  const loop = runTrainLoop(parts, stop.signal)
  await expect.poll(() => changed.count).toBe(1)
  mustWait = false
  changed.wake()
  await expect.poll(() => [isAsked, changed.count]).toEqual([true, 3])
  stop.abort()
  await loop
})

test('a node that is stopped while it tries weights of a peer tells the trial to end', async () => {
  let isTrying = false
  const node = await startLooped(
    {
      exchange: (signal) =>
        new Promise((resolve) => {
          isTrying = true
          signal!.addEventListener('abort', () => resolve())
        }),
    },
    (closer) => closers.push(closer),
  )
  await node.until(() => isTrying)
  await node.stop()
})
