import { expect, test } from 'vitest'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { decide, type Held, type Limits, type Readings } from '../../daemon/limits/rules.ts'

const calm: Readings = { minuteOfDay: 12 * 60 }
const NONE: Limits = defaultConfig().limits

/** What holds the node back after these readings, five seconds apart. */
function after(limits: Partial<Limits>, ...readings: Partial<Readings>[]): Held[] {
  let held: Held[] = []
  for (const [i, one] of readings.entries())
    held = decide({ ...NONE, ...limits }, { ...calm, ...one }, held, i * 5000)
  return held
}
const names = (held: readonly Held[]): string[] => held.map(({ limit }) => limit)

test('without limits, nothing holds a node back', () => {
  expect(
    after({}, { onBattery: true, celsius: 99, othersPercent: 100, stateBytes: 1e15, writesOwed: 1e15 }),
  ).toEqual([])
})

test('a limit holds nothing back on a machine that does not tell', () => {
  const all: Partial<Limits> = {
    on_battery: false,
    celsius: 60,
    busy_percent: 10,
    disk_gb: 1,
    writes_gb_per_day: 1,
  }
  expect(after(all, {})).toEqual([])
})

test.each([
  ['22:00-07:00', '21:59', false],
  ['22:00-07:00', '22:00', true],
  ['22:00-07:00', '06:59', true],
  ['22:00-07:00', '07:00', false],
  ['09:00-17:30', '09:00', true],
  ['09:00-17:30', '17:30', false],
  ['00:00-24:00', '23:59', true],
])('with hours %s, at %s the node may work: %s', (hours, time, may) => {
  const [h, m] = time.split(':').map(Number) as [number, number]
  expect(names(after({ hours }, { minuteOfDay: h * 60 + m }))).toEqual(may ? [] : ['hours'])
})

test('battery power holds back only if it is not allowed', () => {
  expect(after({ on_battery: false }, { onBattery: true })).toMatchObject([
    { limit: 'on_battery', reason: 'the machine runs on battery', since: 0 },
  ])
  expect(after({ on_battery: false }, { onBattery: true }, { onBattery: false })).toEqual([])
})

test('a hot machine must cool by five degrees before work goes on', () => {
  const hot = [{ celsius: 70 }, { celsius: 76 }]
  expect(after({ celsius: 75 }, ...hot)).toMatchObject([
    { reason: 'the machine is hot: 76 °C, limit 75 °C', since: 5000 },
  ])
  expect(after({ celsius: 75 }, ...hot, { celsius: 71 })).toMatchObject([{ since: 5000 }])
  expect(after({ celsius: 75 }, ...hot, { celsius: 70 })).toEqual([])
})

test('after other programs were busy, the node waits until they have been calm for half a minute', () => {
  const calmFor = (count: number) => Array.from({ length: count }, () => ({ othersPercent: 3 }))
  const busy = { othersPercent: 63 }
  expect(after({ busy_percent: 20 }, busy, ...calmFor(5))).toMatchObject([
    { limit: 'busy_percent', reason: 'other programs use 63 % of the CPU, limit 20 %', since: 0 },
  ])
  expect(after({ busy_percent: 20 }, busy, ...calmFor(6))).toEqual([])
  // The last busy moment counts.
  expect(names(after({ busy_percent: 20 }, busy, busy, ...calmFor(5)))).toEqual(['busy_percent'])
})

test('a clock that is set back does not lengthen the wait for other programs', () => {
  const [limits, seen] = [{ ...NONE, busy_percent: 20 }, 7_200_000]
  const busy = decide(limits, { ...calm, othersPercent: 63 }, [], seen)
  expect(decide(limits, { ...calm, othersPercent: 3 }, busy, 0)).toEqual([])
})

test('files that take too much room hold back until there is room', () => {
  expect(after({ disk_gb: 2 }, { stateBytes: 2.1e9 })).toMatchObject([
    { reason: 'its files take 2.10 GB, limit 2.00 GB' },
  ])
  expect(after({ disk_gb: 2 }, { stateBytes: 2.1e9 }, { stateBytes: 1.9e9 })).toEqual([])
})

test('work stops when a quarter of a day’s bytes is written ahead, and goes on when nothing is owed', () => {
  expect(after({ writes_gb_per_day: 1 }, { writesOwed: 0.25e9 })).toEqual([])
  expect(after({ writes_gb_per_day: 1 }, { writesOwed: 0.26e9 }, { writesOwed: 1 })).toMatchObject([
    { reason: 'it has written 1 B more than 1.00 GB a day', since: 0 },
  ])
  expect(after({ writes_gb_per_day: 1 }, { writesOwed: 0.26e9 }, { writesOwed: 0 })).toEqual([])
})

test('of several limits, the one that has held back longest comes first', () => {
  expect(
    names(
      after(
        { hours: '01:00-02:00', on_battery: false },
        { minuteOfDay: 90, onBattery: true },
        { onBattery: true },
      ),
    ),
  ).toEqual(['on_battery', 'hours'])
})
