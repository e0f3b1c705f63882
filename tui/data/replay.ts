// A recorded run as a store: the view at any moment, at a position that advances by itself or is moved by the
// user. Needs no daemon. Reads the files written by daemon/control/journal/run-file.ts, using only protocol/api.

import {
  type Evaluation,
  type Event,
  METRICS,
  type SeriesPoint,
  type Snapshot,
} from '../../protocol/api/index.ts'
import { inert } from './inert.ts'
import type { Store, View } from './store.ts'

const EVENTS_SHOWN = 2000
const CURVE_POINTS = 400
const TICK_MS = 250
/** The series of TrainingInfo.rewardSeries; snapshots are recorded without it. */
const OWN_REWARD = 'own_reward'

export interface Replay extends Store {
  position(): ReplayPosition
  /** Moves by a share of the run; -1 goes to the start, 1 to the end. */
  move(share: number): void
  /** Plays or stops. */
  toggle(): void
  faster(factor: number): void
}

export interface ReplayPosition {
  from: number
  to: number
  at: number
  running: boolean
  /** Seconds of the run per second of playback. */
  speed: number
}

interface Record {
  snapshots: Array<{ time: number; snapshot: Snapshot }>
  events: Event[]
  evaluations: Evaluation[]
  series: Map<string, SeriesPoint[]>
}

export function createReplay(lines: Iterable<string>, { clock }: { clock: () => number }): Replay {
  const record = readRecord(lines)
  const from = record.snapshots[0]?.time ?? record.events[0]?.time ?? 0
  const to = Math.max(record.snapshots.at(-1)?.time ?? 0, record.events.at(-1)?.time ?? 0, from)
  const listeners = new Set<() => void>()
  let at = from
  let running = true
  let speed = Math.max(1, Math.round((to - from) / 60_000))
  let last = clock()
  let view = viewAt(record, at)
  const go = (next: number): void => {
    at = Math.min(to, Math.max(from, next))
    view = viewAt(record, at)
    for (const listener of listeners) listener()
  }
  const timer = setInterval(() => {
    const now = clock()
    const passed = now - last
    last = now
    if (running && at < to) go(at + passed * speed)
  }, TICK_MS)
  return {
    view: () => view,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    want() {},
    reconnect() {},
    close() {
      clearInterval(timer)
      listeners.clear()
    },
    position: () => ({ from, to, at, running: running && at < to, speed }),
    move: (share) => go(at + share * (to - from)),
    toggle() {
      running = !running
      go(at)
    },
    faster(factor) {
      speed = Math.min(100_000, Math.max(1, Math.round(speed * factor)))
      go(at)
    },
  }
}

function readRecord(lines: Iterable<string>): Record {
  const record: Record = { snapshots: [], events: [], evaluations: [], series: new Map() }
  for (const line of lines) {
    const event = parse(line)
    if (!event) continue
    if (event.type === 'snapshot') {
      record.snapshots.push({ time: event.time, snapshot: event.snapshot })
      for (const metric of METRICS)
        addReading(record.series, metric.series, metric.read(event.snapshot), event)
    } else record.events.push(event)
    if (event.type === 'step') addReading(record.series, OWN_REWARD, event.metrics.own_reward, event)
    if (event.type === 'eval') {
      record.evaluations.push(event)
      addReading(record.series, 'eval_accuracy', event.accuracy, event)
    }
  }
  return record
}

/** A truncated file, or one that is not a recording, must not crash the screen. */
function parse(line: string): Event | undefined {
  try {
    const event = inert(JSON.parse(line) as Event)
    return typeof event?.time === 'number' && typeof event.type === 'string' ? event : undefined
  } catch {
    return undefined
  }
}

function addReading(
  series: Map<string, SeriesPoint[]>,
  name: string,
  reading: ReturnType<(typeof METRICS)[number]['read']>,
  event: Event,
): void {
  const step =
    event.type === 'snapshot'
      ? (event.snapshot.training?.step ?? 0)
      : event.type === 'eval' || event.type === 'step'
        ? event.step
        : 0
  const rows = typeof reading === 'number' ? [{ value: reading }] : (reading ?? [])
  for (const row of rows) {
    const labels = 'labels' in row && row.labels ? Object.values(row.labels) : []
    const key = [name, ...labels].join('.')
    const points = series.get(key) ?? []
    series.set(key, points)
    points.push([event.time, step, row.value])
  }
}

function viewAt({ snapshots, events, evaluations, series }: Record, at: number): View {
  const found = snapshots[countUntil(snapshots, (entry) => entry.time, at) - 1]?.snapshot
  const shown = evaluations.slice(
    0,
    countUntil(evaluations, (entry) => entry.time, at),
  )
  const last = countUntil(events, (event) => event.time, at)
  const curves = new Map<string, readonly SeriesPoint[]>()
  for (const [name, points] of series) {
    const until = points.slice(
      0,
      countUntil(points, ([time]) => time, at),
    )
    const every = Math.ceil(until.length / CURVE_POINTS)
    curves.set(name, every > 1 ? until.filter((_, i) => i % every === 0 || i === until.length - 1) : until)
  }
  const rewardSeries = [...(curves.get(OWN_REWARD) ?? [])]
  return {
    snapshot: found && {
      ...found,
      time: at,
      ...(found.training && { training: { ...found.training, rewardSeries } }),
      ...(shown.length > 0 ? { evaluations: shown.slice(-64) } : {}),
    },
    events: events.slice(Math.max(0, last - EVENTS_SHOWN), last),
    series: curves,
    groups: [],
    isRecording: true,
    rates: {},
    contact: 'live',
    heardAt: at,
    lostReason: undefined,
    now: at,
  }
}

/** Number of entries, sorted by time, that are not after `at`. */
function countUntil<T>(entries: readonly T[], time: (entry: T) => number, at: number): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (time(entries[middle]!) <= at) low = middle + 1
    else high = middle
  }
  return low
}
