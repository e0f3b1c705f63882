// What a node says about its clock.

import { expect, test } from 'vitest'
import { ClockWatch } from '../../../daemon/swarm/admission/clock-watch.ts'
import { stillClock } from '../groups.ts'

const HOUR = 3_600_000

function make() {
  const clock = stillClock()
  let said: string | undefined
  const watch = new ClockWatch(
    {},
    {
      clock,
      onOff(message) {
        said = message
      },
      onRight() {
        said = undefined
      },
    },
  )
  return { clock, watch, said: () => said }
}

test('a clock that is two hours off is reported until it is corrected', () => {
  const { clock, watch, said } = make()
  watch.dated('a', 2 * HOUR)
  expect(said()).toBe('this node’s clock is 2 hours behind its peer’s')
  watch.dated('b', 2 * HOUR + 500)
  expect(said()).toBe('this node’s clock is 2 hours behind those of its 2 peers')
  clock.time += 2 * HOUR
  watch.dated('a', 30)
  expect(said()).toBeUndefined()
})

test('one peer of several with a wrong clock is not this node’s trouble, and a few minutes are none', () => {
  const { watch, said } = make()
  watch.dated('a', 60_000)
  watch.dated('liar', -50 * HOUR)
  watch.dated('another', -50 * HOUR)
  watch.dated('b', -60_000)
  expect(said()).toBeUndefined()
})

test('a limited number of peers is remembered', () => {
  const { watch, said } = make()
  for (let i = 0; i < 1000; i++) watch.dated(`peer ${i}`, -3 * HOUR)
  expect(said()).toBe('this node’s clock is 3 hours ahead of those of its 64 peers')
})
