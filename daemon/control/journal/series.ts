// The recent past of every metric, for charts. Sampled from snapshots and bounded in memory: the newest samples as they
// are, and the whole run at an interval that doubles whenever the buffer is full. Not a database: a restart begins
// anew, and the run file on disk has everything.

import {
  METRICS,
  type Series,
  type SeriesPoint,
  type SeriesQuery,
  type Snapshot,
} from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'

const CAPACITY = 1024
const MAX_POINTS = 1000

export interface SeriesRecorder {
  sample(snapshot: Snapshot): void
  query(query: SeriesQuery): Series
}

export function createSeriesRecorder(): SeriesRecorder {
  const kept = new Map<string, Track>()
  const lasting = METRICS.filter(({ passing }) => !passing)
  const known = new Map(lasting.map((metric) => [metric.series, metric]))
  return {
    sample(snapshot) {
      const step = snapshot.training?.step ?? 0
      for (const metric of lasting) {
        const reading = metric.read(snapshot)
        const values =
          typeof reading === 'number'
            ? [{ name: metric.series, value: reading }]
            : labelled(metric.series, reading)
        for (const { name, value } of values) {
          if (!Number.isFinite(value)) continue
          let track = kept.get(name)
          if (!track) {
            track = { recent: [], whole: [], stride: 1, open: [] }
            kept.set(name, track)
          }
          extend(track, [snapshot.time, step, value])
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
      const inside = pointsOf(kept.get(name)).filter(([time]) => time >= from && time <= to)
      const wanted = Math.max(1, Math.min(MAX_POINTS, Math.floor(points)))
      return { v: 1, name, unit: metric.unit, points: downsample(inside, wanted) }
    },
  }
}

/** The value of a label is appended to the series' name: `accuracy.basic_arithmetic`. */
function labelled(series: string, readings: ReturnType<(typeof METRICS)[number]['read']>) {
  if (!Array.isArray(readings)) return []
  return readings.map(({ labels, value }) => ({
    name: [series, ...Object.values(labels ?? {})].join('.'),
    value,
  }))
}

/** One series: the newest samples, and the whole run in buckets of `stride` samples. */
interface Track {
  recent: SeriesPoint[]
  whole: SeriesPoint[]
  stride: number
  /** Samples of the bucket that is not full yet. */
  open: SeriesPoint[]
}

function extend(track: Track, point: SeriesPoint): void {
  track.recent.push(point)
  if (track.recent.length > CAPACITY) track.recent.shift()
  track.open.push(point)
  if (track.open.length < track.stride) return
  track.whole.push(mean(track.open))
  track.open = []
  if (track.whole.length < CAPACITY) return
  track.whole = Array.from({ length: CAPACITY / 2 }, (_, i) => mean(track.whole.slice(2 * i, 2 * i + 2)))
  track.stride *= 2
}

function pointsOf(track: Track | undefined): SeriesPoint[] {
  if (!track) return []
  const first = track.recent[0]?.[0] ?? Number.POSITIVE_INFINITY
  return [...track.whole.filter(([time]) => time < first), ...track.recent]
}

/** Reduces to at most `wanted` points, each the mean of an equal part of the time span. */
export function downsample(points: readonly SeriesPoint[], wanted: number): SeriesPoint[] {
  if (points.length <= wanted) return [...points]
  const start = points[0]![0]
  const span = points[points.length - 1]![0] - start || 1
  const buckets: SeriesPoint[][] = Array.from({ length: wanted }, () => [])
  for (const point of points) {
    const share = (point[0] - start) / span
    buckets[Math.min(wanted - 1, Math.floor(share * wanted))]!.push(point)
  }
  return buckets.filter((bucket) => bucket.length > 0).map(mean)
}

/** The mean value, with the bucket's last time and step, so that a curve ends where the data does. */
function mean(points: readonly SeriesPoint[]): SeriesPoint {
  const [time, step] = points[points.length - 1]!
  return [time, step, points.reduce((sum, [, , value]) => sum + value, 0) / points.length]
}
