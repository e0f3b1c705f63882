// The recent past of every metric, for charts. Sampled from snapshots, bounded in memory: when a series is full, its
// older half is merged in pairs, so that a long run keeps its shape at a coarser step. Not a database: a restart
// begins anew, and the run file on disk has everything.

import {
  METRICS,
  type Series,
  type SeriesPoint,
  type SeriesQuery,
  type Snapshot,
} from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'

const CAPACITY = 2048
export const MAX_POINTS = 1000

export interface SeriesRecorder {
  sample(snapshot: Snapshot): void
  query(query: SeriesQuery): Series
}

export function createSeriesRecorder(): SeriesRecorder {
  const kept = new Map<string, SeriesPoint[]>()
  const known = new Map(METRICS.map((metric) => [metric.series, metric]))
  return {
    sample(snapshot) {
      const step = snapshot.training?.step ?? 0
      for (const metric of METRICS) {
        const reading = metric.read(snapshot)
        const values =
          typeof reading === 'number'
            ? [{ name: metric.series, value: reading }]
            : labelled(metric.series, reading)
        for (const { name, value } of values) {
          if (!Number.isFinite(value)) continue
          const points = kept.get(name) ?? []
          kept.set(name, points)
          points.push([snapshot.time, step, value])
          if (points.length > CAPACITY) thin(points)
        }
      }
    },
    query({ name, from = 0, to = Number.POSITIVE_INFINITY, points = 240 }) {
      const metric = known.get(name.split('.')[0]!)
      if (!metric) {
        throw new WaggleError('E_CONTROL', `there is no series "${name.slice(0, 80)}"`, {
          hint: `Series: ${[...known.keys()].join(', ')}`,
        })
      }
      const inside = (kept.get(name) ?? []).filter(([time]) => time >= from && time <= to)
      const wanted = Math.max(1, Math.min(MAX_POINTS, Math.floor(points)))
      return { v: 1, name, unit: metric.unit, points: downsample(inside, wanted) }
    },
  }
}

/** `accuracy.basic_arithmetic`: a label's value follows the series' name. */
function labelled(series: string, readings: ReturnType<(typeof METRICS)[number]['read']>) {
  if (!Array.isArray(readings)) return []
  return readings.map(({ labels, value }) => ({
    name: [series, ...Object.values(labels ?? {})].join('.'),
    value,
  }))
}

function thin(points: SeriesPoint[]): void {
  const half = points.length >> 1
  const merged: SeriesPoint[] = []
  for (let i = 0; i + 1 < half; i += 2) merged.push(mean([points[i]!, points[i + 1]!]))
  points.splice(0, half & ~1, ...merged)
}

/** At most `wanted` points, each the mean of a run of neighbours of equal count. */
export function downsample(points: readonly SeriesPoint[], wanted: number): SeriesPoint[] {
  if (points.length <= wanted) return [...points]
  const buckets: SeriesPoint[] = []
  for (let i = 0; i < wanted; i++) {
    const start = Math.floor((i * points.length) / wanted)
    const end = Math.floor(((i + 1) * points.length) / wanted)
    buckets.push(mean(points.slice(start, end)))
  }
  return buckets
}

/** The bucket's last time and step, so that a curve ends where the data does, and the mean value. */
function mean(points: readonly SeriesPoint[]): SeriesPoint {
  const [time, step] = points[points.length - 1]!
  return [time, step, points.reduce((sum, [, , value]) => sum + value, 0) / points.length]
}
