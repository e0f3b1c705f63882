import { expect, test } from 'vitest'
import { createTelemetry } from '../../daemon/control/journal/telemetry.ts'
import { createTrainedOn } from '../../daemon/trainer/trained-on.ts'

function telling() {
  let time = 0
  const now = (): number => time
  const telemetry = createTelemetry({}, { now, trainedOn: createTrainedOn({ now }) })
  const speed = (): number | undefined => telemetry.training(0).generateTokensPerSecond
  const at = (ms: number): void => {
    time = ms
  }
  return { telemetry, speed, at }
}

test('a round of minutes gives a speed, until the next may have ended', () => {
  const { telemetry, speed, at } = telling()
  expect(speed()).toBeUndefined()
  at(100_000)
  telemetry.round({ seconds: 100, tokens: 1500 })
  expect(speed()).toBe(15)
  at(300_000)
  expect(speed()).toBe(15)
  at(500_000)
  expect(speed()).toBeUndefined()
})

test('of short rounds the last twenty seconds count', () => {
  const { telemetry, speed, at } = telling()
  for (let second = 1; second <= 60; second++) {
    at(second * 1000)
    telemetry.round({ seconds: 1, tokens: second <= 30 ? 100 : 500 })
  }
  expect(speed()).toBe(500)
  at(90_000)
  expect(speed()).toBeUndefined()
})

test('rounds of a clock that was set back count no more', () => {
  const { telemetry, speed, at } = telling()
  at(9_000_000)
  telemetry.round({ seconds: 1, tokens: 100 })
  at(1_000)
  telemetry.round({ seconds: 1, tokens: 200 })
  expect(speed()).toBe(200)
  at(2_000)
  telemetry.round({ seconds: 1, tokens: 300 })
  expect(speed()).toBe(300)
})
