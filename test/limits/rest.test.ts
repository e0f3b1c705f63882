import { expect, test } from 'vitest'
import { createRestTimer } from '../../daemon/limits/index.ts'
import { VirtualClock } from '../virtual-clock.ts'

test('rest is due once a node was held for two minutes, asked for every minute, and not when it goes on', async () => {
  const clock = new VirtualClock()
  const seen = { isHeld: false, due: 0 }
  const timer = createRestTimer({
    isHeld: () => seen.isHeld,
    after: clock.after,
    onDue: () => void seen.due++,
  })
  await clock.pass(10 * 60_000)
  expect([timer.isDue, seen.due]).toEqual([false, 0])
  seen.isHeld = true
  await clock.pass(119_000)
  expect([timer.isDue, seen.due]).toEqual([false, 0])
  await clock.pass(61_000)
  expect([timer.isDue, seen.due]).toEqual([true, 2])
  seen.isHeld = false
  expect(timer.isDue).toBe(false)
  await clock.pass(60_000)
  seen.isHeld = true
  await clock.pass(60_000)
  expect([timer.isDue, seen.due]).toEqual([false, 2])
  await timer.close()
  await clock.pass(600_000)
  expect(seen.due).toBe(2)
})
