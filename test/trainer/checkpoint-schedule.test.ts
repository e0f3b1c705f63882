import { expect, test } from 'vitest'
import { createCheckpointSchedule } from '../../daemon/trainer/checkpoints/checkpoint-schedule.ts'

const MINUTE = 60_000

function scheduled(options: { everySteps?: number; everySeconds?: number; version?: number } = {}) {
  const clock = { ms: 0 }
  const schedule = createCheckpointSchedule(
    { settings: () => ({ everySteps: 50, everySeconds: 300, ...options }), version: options.version ?? 0 },
    { monotonic: () => clock.ms },
  )
  return {
    clock,
    due: (version: number, isChanged?: boolean) => schedule.isDue(version, isChanged),
    save: (version: number, tookMs = 100) =>
      schedule.run(version, async () => {
        clock.ms += tookMs
      }),
    fail: (version: number) => schedule.run(version, () => Promise.reject(new Error('full'))),
  }
}

test('a slow model is saved within a minute of the start, and every few minutes from then on', async () => {
  const node = scheduled()
  node.clock.ms = MINUTE - 1
  expect(node.due(1)).toBe(false)
  node.clock.ms = MINUTE
  expect(node.due(1)).toBe(true)
  await node.save(1)
  node.clock.ms += 5 * MINUTE - 1
  expect(node.due(2)).toBe(false)
  node.clock.ms += 1
  expect(node.due(2)).toBe(true)
})

test('ten kills in a row, each 90 seconds after a start, keep what was learnt in the first minute of each run', async () => {
  let saved = 0
  for (let run = 0; run < 10; run++) {
    const node = scheduled({ version: saved })
    for (let [second, version] = [30, saved + 1]; second <= 90; second += 30, version++) {
      node.clock.ms = second * 1000
      if (!node.due(version)) continue
      await node.save(version)
      saved = version
    }
  }
  expect(saved).toBe(20)
})

test('weights that are saved already are not saved again', async () => {
  const node = scheduled({ version: 7 })
  node.clock.ms = 60 * MINUTE
  expect(node.due(7)).toBe(false)
  await node.save(8)
  node.clock.ms += 60 * MINUTE
  expect(node.due(8)).toBe(false)
})

test('weights that changed without a step are saved by time', async () => {
  const node = scheduled()
  await node.save(7)
  node.clock.ms += 5 * MINUTE - 1
  expect(node.due(7, true)).toBe(false)
  node.clock.ms += 1
  expect(node.due(7, true)).toBe(true)
})

test('a fast model is saved by steps, also where several minibatches step over the line', async () => {
  const node = scheduled({ version: 48 })
  expect(node.due(49)).toBe(false)
  expect(node.due(52)).toBe(true)
  await node.save(52)
  expect(node.due(99)).toBe(false)
  expect(node.due(100)).toBe(true)
})

test('slow saves come more rarely: they take at most 2 % of the time', async () => {
  const node = scheduled()
  await node.save(1, 30_000)
  node.clock.ms += 25 * MINUTE - 1
  expect(node.due(2)).toBe(false)
  node.clock.ms += 1
  expect(node.due(2)).toBe(true)
})

test('a save that fails is not tried again at the next step', async () => {
  const node = scheduled()
  await expect(node.fail(50)).rejects.toThrow('full')
  expect(node.due(51)).toBe(false)
  node.clock.ms = 5 * MINUTE
  expect(node.due(51)).toBe(true)
})

test('with every_seconds = 0 only steps count, and a shorter pause than a minute holds from the start', () => {
  const bySteps = scheduled({ everySeconds: 0 })
  bySteps.clock.ms = 600 * MINUTE
  expect(bySteps.due(49)).toBe(false)
  const often = scheduled({ everySeconds: 10 })
  often.clock.ms = 10_000
  expect(often.due(1)).toBe(true)
})
