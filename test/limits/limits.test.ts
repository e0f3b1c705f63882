import { beforeEach, expect, test } from 'vitest'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { balanceAt } from '../../daemon/limits/budget.ts'
import { createLimits, type MachineReader, type NodeLimits } from '../../daemon/limits/index.ts'
import { VirtualClock } from '../virtual-clock.ts'

let clock: VirtualClock
let seen: { onBattery?: boolean; writtenBytes?: number }
let used: number
let told: string[]
let freed: number
beforeEach(() => {
  clock = new VirtualClock()
  seen = {}
  used = 0
  told = []
  freed = 0
})

function open(set: Partial<ReturnType<typeof defaultConfig>['limits']>, cores = 2): Promise<NodeLimits> {
  const machine: MachineReader = {
    onBattery: async () => seen.onBattery,
    celsius: async () => undefined,
    othersPercent: () => undefined,
    writtenBytes: async () => seen.writtenBytes,
  }
  return createLimits(
    { settings: () => ({ ...defaultConfig().limits, ...set }), cores },
    {
      ...{ machine, cpuMs: () => used, stateBytes: () => undefined },
      ...{ now: clock.now, monotonic: clock.now, after: clock.after },
      onFree: () => {
        freed += 1
      },
      onChange: ({ holds }) => told.push(holds.map(({ limit }) => limit).join()),
    },
  )
}

test('a node that starts on battery does not begin, and is told when it may', async () => {
  seen.onBattery = true
  const limits = await open({ on_battery: false })
  expect([limits.isHeld, limits.mustWait()]).toEqual([true, true])
  const began = clock.now()
  seen.onBattery = false
  await clock.pass(5000)
  expect([limits.isHeld, limits.mustWait(), freed]).toEqual([false, false, 1])
  seen.onBattery = true
  await clock.pass(5000)
  expect(limits.info().holds).toEqual([
    { limit: 'on_battery', reason: 'the machine runs on battery', since: began + 10_000 },
  ])
  expect(told).toEqual(['on_battery', '', 'on_battery'])
  await limits.close()
})

test.each([
  { percent: 50, cores: 2, piece: 3000 },
  { percent: 25, cores: 4, piece: 700 },
  { percent: 10, cores: 1, piece: 20_000 },
])('pieces of $piece ms keep to $percent % of $cores cores', async ({ percent, cores, piece }) => {
  const limits = await open({ cpu_percent: percent }, cores)
  const began = clock.now()
  const end = began + 100 * piece
  while (clock.now() < end) {
    if (limits.mustWait()) {
      const before = freed
      // The loops sleep until they are woken.
      while (freed === before) await clock.pass(piece / 20)
      continue
    }
    used += piece
    await clock.pass(piece / cores)
  }
  const share = used / (clock.now() - began) / cores
  expect(share).toBeGreaterThan(0.9 * (percent / 100))
  expect(share).toBeLessThan(1.05 * (percent / 100))
  await limits.close()
})

test('without a share of the CPU, no loop waits, however much was used', async () => {
  const limits = await open({})
  used += 1e9
  expect(limits.mustWait()).toBe(false)
  expect(limits.info()).toEqual({ holds: [] })
})

test('a share that is set later counts from then on', async () => {
  const set = { cpu_percent: 100 }
  const limits = await open(set)
  used += 1e9
  expect(limits.mustWait()).toBe(false)
  set.cpu_percent = 50
  expect(limits.mustWait()).toBe(false)
  used += 60_000
  expect(limits.mustWait()).toBe(true)
  await limits.close()
})

test('checkpoints wait while more was written than the limit allows, and work does not', async () => {
  seen.writtenBytes = 5e6
  const limits = await open({ writes_gb_per_day: 0.864 })
  expect(limits.mayWrite()).toBe(true)
  // A checkpoint of 12 MB, at 10 kB/s, is 1200 s of writing.
  seen.writtenBytes += 12e6
  await clock.pass(5000)
  expect([limits.mayWrite(), limits.isHeld]).toEqual([false, false])
  await clock.pass(1190_000)
  expect(limits.mayWrite()).toBe(false)
  await clock.pass(10_000)
  expect(limits.mayWrite()).toBe(true)
  await limits.close()
})

test('after close, nothing is read any more', async () => {
  const limits = await open({ on_battery: false })
  await limits.close()
  seen.onBattery = true
  await clock.pass(60_000)
  expect(told).toEqual([])
})

test('a budget saves up no more than its most, and owes what was used beyond it', () => {
  const rate = { perMs: 2, mostLeft: 100 }
  const rested = balanceAt({ at: 0, used: 0, owed: 0 }, { at: 1000, used: 0 }, rate)
  expect(rested.owed).toBe(-100)
  expect(balanceAt(rested, { at: 1010, used: 500 }, rate).owed).toBe(380)
})
