// Reads the machine for the limits. Power, temperature and bytes written come from Linux's /sys and /proc, because
// Node.js has no API for them. The CPU use of other programs can be read on every system.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LimitName } from '../../protocol/api/index.ts'
import type { Config } from '../config/schema.ts'

export interface MachineReader {
  /** Undefined if the machine does not report it. */
  onBattery(): Promise<boolean | undefined>
  /** Temperature of the hottest sensor, in °C; undefined if the machine does not report it. */
  celsius(): Promise<number | undefined>
  /** CPU use of all other programs since the last call, in percent of all cores; undefined at the first call. */
  othersPercent(): number | undefined
  /** Bytes that this process has written to disks so far; undefined if the machine does not report it. */
  writtenBytes(): Promise<number | undefined>
}

interface MachineParts {
  /** os.cpus(): times in ms since the machine started. */
  cpus(): ReadonlyArray<{
    times: { user: number; nice: number; sys: number; idle: number; irq: number }
  }>
  /** process.cpuUsage(): times in µs. */
  cpuUsage(): { user: number; system: number }
}

/** The limits that are set but cannot be kept, because the machine does not report enough; and why. */
export async function unkept(
  limits: Pick<Config['limits'], 'on_battery' | 'celsius' | 'writes_gb_per_day'>,
  machine: MachineReader,
): Promise<Array<{ limit: LimitName; why: string }>> {
  const asked = [
    {
      limit: 'on_battery',
      isSet: !limits.on_battery,
      reading: machine.onBattery,
      why: 'the machine has no battery, or does not tell',
    },
    {
      limit: 'celsius',
      isSet: limits.celsius > 0,
      reading: machine.celsius,
      why: 'the machine does not tell its temperature',
    },
    {
      limit: 'writes_gb_per_day',
      isSet: limits.writes_gb_per_day > 0,
      reading: machine.writtenBytes,
      why: 'the system does not tell what a program has written',
    },
  ] as const
  const found: Array<{ limit: LimitName; why: string }> = []
  for (const { limit, isSet, reading, why } of asked)
    if (isSet && (await reading()) === undefined) found.push({ limit, why })
  return found
}

/** Sensors of parts that are switched off report 0 or less; broken sensors report anything. */
const LIKELY_CELSIUS = { low: 1, high: 150 }

/** `root`: the folder that contains `sys` and `proc`; `/` except in tests. */
export function createMachineReader({ root }: { root: string }, parts: MachineParts): MachineReader {
  const text = async (...path: string[]): Promise<string | undefined> =>
    (await readFile(join(root, ...path), 'utf8').catch(() => undefined))?.trim()
  const list = (...path: string[]): Promise<string[]> => readdir(join(root, ...path)).catch(() => [])

  const cpuTimes = (): { busy: number; all: number; own: number } => {
    let [busy, all] = [0, 0]
    for (const { times } of parts.cpus()) {
      const { idle, ...work } = times
      const sum = Object.values(work).reduce((a, b) => a + b, 0)
      busy += sum
      all += sum + idle
    }
    const { user, system } = parts.cpuUsage()
    return { busy, all, own: (user + system) / 1000 }
  }
  let before: ReturnType<typeof cpuTimes> | undefined

  return {
    async onBattery() {
      const folder = ['sys', 'class', 'power_supply']
      const supplies = await Promise.all(
        (await list(...folder)).map(async (name) => ({
          type: await text(...folder, name, 'type'),
          online: await text(...folder, name, 'online'),
          status: await text(...folder, name, 'status'),
          scope: await text(...folder, name, 'scope'),
        })),
      )
      // Batteries of mice and keyboards do not power the machine.
      const own = supplies.filter(({ scope }) => scope !== 'Device')
      if (own.some(({ type, online }) => type !== 'Battery' && online === '1')) return false
      const batteries = own.filter(({ type }) => type === 'Battery')
      return batteries.length === 0 ? undefined : batteries.some(({ status }) => status === 'Discharging')
    },

    async celsius() {
      const folder = ['sys', 'class', 'thermal']
      const zones = (await list(...folder)).filter((name) => name.startsWith('thermal_zone'))
      const found = await Promise.all(zones.map((name) => text(...folder, name, 'temp')))
      const degrees = found
        .map((milli) => Number(milli ?? Number.NaN) / 1000)
        .filter((degree) => degree >= LIKELY_CELSIUS.low && degree <= LIKELY_CELSIUS.high)
      return degrees.length === 0 ? undefined : Math.max(...degrees)
    },

    othersPercent() {
      const now = cpuTimes()
      const since = before
      before = now
      if (since === undefined || now.all <= since.all) return undefined
      const others = now.busy - since.busy - (now.own - since.own)
      return Math.min(100, Math.max(0, (100 * others) / (now.all - since.all)))
    },

    async writtenBytes() {
      const counters = await text('proc', 'self', 'io')
      const counter = (name: string): number | undefined => {
        const value = new RegExp(`^${name}: (\\d+)$`, 'm').exec(counters ?? '')?.[1]
        return value === undefined ? undefined : Number(value)
      }
      const written = counter('write_bytes')
      return written === undefined ? undefined : written - (counter('cancelled_write_bytes') ?? 0)
    },
  }
}
