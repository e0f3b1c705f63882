// Bytes against a limit for each hour.

import { expect, test } from 'vitest'
import { createHourlyBytes } from '../../../daemon/swarm/heads/hourly-bytes.ts'
import { stillClock } from '../groups.ts'

const MINUTE_MS = 60_000

function limited(most: number) {
  const clock = stillClock()
  return { clock, hourly: createHourlyBytes({ most: () => most }, { clock }) }
}

test('as many as the limit are taken, and no more until an hour later', () => {
  const { clock, hourly } = limited(100)
  expect(hourly.take(60)).toBeDefined()
  clock.time += 30 * MINUTE_MS
  expect(hourly.take(41)).toBeUndefined()
  expect(hourly.take(40)).toBeDefined()
  clock.time += 30 * MINUTE_MS
  expect(hourly.take(61)).toBeUndefined()
  expect(hourly.take(60)).toBeDefined()
})

test('in no hour there are more than the limit, whenever they are taken', () => {
  const { clock, hourly } = limited(100)
  const taken: number[] = []
  for (let second = 0; second < 4 * 3600; second += 7) {
    clock.time += 7000
    if (hourly.take(9)) taken.push(clock.time)
  }
  const inHourTo = (end: number) => taken.filter((at) => at <= end && at > end - 60 * MINUTE_MS).length
  expect(Math.max(...taken.map(inHourTo))).toBe(11)
})

test('what was not used is given back', () => {
  const { hourly } = limited(100)
  const giveBack = hourly.take(100)!
  expect(hourly.take(1)).toBeUndefined()
  giveBack(30)
  expect(hourly.take(31)).toBeUndefined()
  expect(hourly.take(30)).toBeDefined()
})

test('a limit of 0 is none, and one that is set later counts what came before', () => {
  const clock = stillClock()
  let most = 0
  const hourly = createHourlyBytes({ most: () => most }, { clock })
  expect(hourly.take(1e12)).toBeDefined()
  most = 100
  expect(hourly.take(1)).toBeUndefined()
})

test('a clock that is set back blocks nothing', () => {
  const { clock, hourly } = limited(100)
  hourly.take(100)
  clock.time -= 24 * 60 * MINUTE_MS
  expect(hourly.take(100)).toBeDefined()
})
