// Decides what holds a node back: compares readings of the machine with the limits of the config. A pure function.

import type { LimitHold, LimitName } from '../../protocol/api/index.ts'
import { bytes } from '../../protocol/api/text/format.ts'
import type { Config } from '../config/schema.ts'

export type Limits = Config['limits']

/** Readings of the machine; absent if it does not report them. */
export interface Readings {
  /** Minutes since midnight, local time. */
  minuteOfDay: number
  onBattery?: boolean | undefined
  /** Temperature of the hottest sensor, in °C. */
  celsius?: number | undefined
  /** CPU use of all other programs, in percent of all cores. */
  othersPercent?: number | undefined
  /** Size of the node's files. */
  stateBytes?: number | undefined
  /** Bytes written beyond limits.writes_gb_per_day. */
  writesOwed?: number | undefined
}

export interface Held extends LimitHold {
  /** When this last applied, in ms. */
  seen: number
}

interface Rule {
  limit: LimitName
  /** How long the limit holds after it was last exceeded, so that a node does not start and stop all the time. */
  lastsMs: number
  /** Why the node is held back, in a few words; undefined if it is not. `isHeld`: whether it was held before. */
  why(limits: Limits, readings: Readings, isHeld: boolean): string | undefined
}

const GB = 1e9
/** A hot machine must cool by this many °C before work goes on. */
const COOLING = 5
/** Work stops once this share of a day's bytes is owed, and goes on when nothing is owed. */
const OWED_DAYS = 0.25

const RULES: readonly Rule[] = [
  {
    limit: 'hours',
    lastsMs: 0,
    why({ hours }, { minuteOfDay }) {
      const [from, to] = hours.split('-').map(minutesOf) as [number, number]
      const isInside =
        from < to ? minuteOfDay >= from && minuteOfDay < to : minuteOfDay >= from || minuteOfDay < to
      return isInside ? undefined : `it may work at ${hours} only`
    },
  },
  {
    limit: 'on_battery',
    lastsMs: 0,
    why: ({ on_battery }, { onBattery }) =>
      !on_battery && onBattery ? 'the machine runs on battery' : undefined,
  },
  {
    limit: 'celsius',
    lastsMs: 0,
    why({ celsius: most }, { celsius }, isHeld) {
      if (most === 0 || celsius === undefined || celsius <= most - (isHeld ? COOLING : 0)) return undefined
      return `the machine is hot: ${Math.round(celsius)} °C, limit ${most} °C`
    },
  },
  {
    limit: 'busy_percent',
    lastsMs: 30_000,
    why: ({ busy_percent: most }, { othersPercent }) =>
      most < 100 && othersPercent !== undefined && othersPercent > most
        ? `other programs use ${Math.round(othersPercent)} % of the CPU, limit ${most} %`
        : undefined,
  },
  {
    limit: 'disk_gb',
    lastsMs: 0,
    why: ({ disk_gb: most }, { stateBytes }) =>
      most > 0 && stateBytes !== undefined && stateBytes > most * GB
        ? `its files take ${bytes(stateBytes)}, limit ${bytes(most * GB)}`
        : undefined,
  },
  {
    limit: 'writes_gb_per_day',
    lastsMs: 0,
    why({ writes_gb_per_day: most }, { writesOwed }, isHeld) {
      if (most === 0 || writesOwed === undefined) return undefined
      if (writesOwed <= (isHeld ? 0 : OWED_DAYS * most * GB)) return undefined
      return `it has written ${bytes(writesOwed)} more than ${bytes(most * GB)} a day`
    },
  },
]

/** What holds the node back, longest first. `before`: what held it back at the last call. `now` in ms. */
export function decide(limits: Limits, readings: Readings, before: readonly Held[], now: number): Held[] {
  const held = RULES.flatMap(({ limit, lastsMs, why }): Held[] => {
    const known = before.find((one) => one.limit === limit)
    const reason = why(limits, readings, known !== undefined)
    if (reason !== undefined) return [{ limit, reason, since: known?.since ?? now, seen: now }]
    // If the clock was set back, it may have applied in the future.
    return known && Math.abs(now - known.seen) < lastsMs ? [known] : []
  })
  return held.sort((a, b) => a.since - b.since)
}

/** Minutes since midnight of a time such as 22:30. */
function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number) as [number, number]
  return hours * 60 + minutes
}
