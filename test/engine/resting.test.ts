import { expect, test } from 'vitest'
import type { Core } from '../../daemon/engine/core.ts'
import { REST_AFTER_MS, restingWhenIdle } from '../../daemon/engine/onnx/runtime/resting.ts'
import { VirtualClock } from '../virtual-clock.ts'

/** A core whose scores end when told, and that fails if graphs are released meanwhile. */
function scripted() {
  const clock = new VirtualClock()
  const seen = { freed: 0, isFreeing: false, errors: 0 }
  const ends: (() => void)[] = []
  const freed: (() => void)[] = []
  const core = {
    async score() {
      if (seen.isFreeing) seen.errors += 1
      await new Promise<void>((resolve) => ends.push(resolve))
      if (seen.isFreeing) seen.errors += 1
      return []
    },
  } as unknown as Core
  const room = {
    async free() {
      seen.isFreeing = true
      await new Promise<void>((resolve) => freed.push(resolve))
      seen.isFreeing = false
      seen.freed += 1
    },
  }
  return { core: restingWhenIdle(core, room, clock), clock, seen, ends, freed }
}
const score = (core: Core): Promise<unknown> => Promise.resolve(core.score({ sequences: [] } as never))

test('an engine that was used gives its memory back once it has been idle for long enough', async () => {
  const { core, clock, seen, ends, freed } = scripted()
  await clock.pass(10 * REST_AFTER_MS)
  expect(seen.isFreeing).toBe(false)
  const call = score(core)
  await clock.pass(10 * REST_AFTER_MS)
  ends.shift()!()
  await call
  await clock.pass(REST_AFTER_MS - 1)
  expect(seen.isFreeing).toBe(false)
  await clock.pass(1)
  expect(seen.isFreeing).toBe(true)
  freed.shift()!()
  await clock.pass(10 * REST_AFTER_MS)
  expect(seen).toEqual({ freed: 1, isFreeing: false, errors: 0 })
})

test('calls that follow each other keep it', async () => {
  const { core, clock, seen, ends } = scripted()
  for (let i = 0; i < 5; i++) {
    const call = score(core)
    await clock.pass(0.6 * REST_AFTER_MS)
    ends.shift()!()
    await call
    await clock.pass(0.6 * REST_AFTER_MS)
  }
  expect(seen.isFreeing).toBe(false)
})

test('a call that comes while memory is given back waits for that', async () => {
  const { core, clock, seen, ends, freed } = scripted()
  const first = score(core)
  await clock.pass(1)
  ends.shift()!()
  await first
  await clock.pass(REST_AFTER_MS)
  const second = score(core)
  await clock.pass(1)
  expect([seen.isFreeing, ends.length]).toEqual([true, 0])
  freed.shift()!()
  await clock.pass(1)
  // A timer lets what waits go on.
  await new Promise((resolve) => setImmediate(resolve))
  ends.shift()!()
  await second
  expect(seen).toEqual({ freed: 1, isFreeing: false, errors: 0 })
})
