// The reader on made-up /sys and /proc folders.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { createMachineReader, type MachineReader, unkept } from '../../daemon/limits/index.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'waggle-sys-'))
})
afterEach(() => rmSync(root, { recursive: true }))

function put(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), `${text}\n`)
  }
}
const cpu = { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 }
const own = { user: 0, system: 0 }
const reader = (): MachineReader =>
  createMachineReader({ root }, { cpus: () => [{ times: cpu }, { times: cpu }], cpuUsage: () => own })
const supply = (name: string, facts: Record<string, string>): void =>
  put(
    Object.fromEntries(
      Object.entries(facts).map(([key, to]) => [`sys/class/power_supply/${name}/${key}`, to]),
    ),
  )

test('a machine without these folders tells nothing, and limits that need it are named', async () => {
  const machine = reader()
  expect([await machine.onBattery(), await machine.celsius(), await machine.writtenBytes()]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  const { limits } = defaultConfig()
  expect(await unkept(limits, machine)).toEqual([])
  const found = await unkept({ ...limits, celsius: 70, on_battery: false, writes_gb_per_day: 1 }, machine)
  expect(found.map(({ limit }) => limit)).toEqual(['on_battery', 'celsius', 'writes_gb_per_day'])
})

test('a laptop on battery is told from one on mains power', async () => {
  supply('BAT0', { type: 'Battery', status: 'Discharging' })
  supply('AC', { type: 'Mains', online: '0' })
  expect(await reader().onBattery()).toBe(true)
  supply('AC', { type: 'Mains', online: '1' })
  expect(await reader().onBattery()).toBe(false)
})

test('a charger at a USB port is mains power', async () => {
  supply('BAT0', { type: 'Battery', status: 'Charging' })
  supply('ucsi-source-psy-1', { type: 'USB', online: '1' })
  expect(await reader().onBattery()).toBe(false)
})

test('the battery of a mouse does not run the machine', async () => {
  supply('hidpp_battery_0', { type: 'Battery', status: 'Discharging', scope: 'Device' })
  expect(await reader().onBattery()).toBeUndefined()
})

test('the hottest sensor counts, and those that say nonsense do not', async () => {
  put({
    'sys/class/thermal/thermal_zone0/temp': '48500',
    'sys/class/thermal/thermal_zone1/temp': '71000',
    'sys/class/thermal/thermal_zone2/temp': '-274000',
    'sys/class/thermal/thermal_zone3/temp': '3000000',
    'sys/class/thermal/thermal_zone4/temp': 'N/A',
    'sys/class/thermal/cooling_device0/temp': '90000',
  })
  expect(await reader().celsius()).toBe(71)
})

test('bytes that were written, less those that were taken back', async () => {
  put({ 'proc/self/io': 'rchar: 9\nwchar: 8\nwrite_bytes: 4096000\ncancelled_write_bytes: 96000' })
  expect(await reader().writtenBytes()).toBe(4_000_000)
})

test('the CPU use of other programs leaves out that of this one', () => {
  const machine = reader()
  expect(machine.othersPercent()).toBeUndefined()
  // A second on two cores: 1200 ms busy, of which this process used 800.
  Object.assign(cpu, { user: 500, sys: 100, idle: 400 })
  Object.assign(own, { user: 700_000, system: 100_000 })
  expect(machine.othersPercent()).toBeCloseTo(20)
  expect(machine.othersPercent()).toBeUndefined()
})
