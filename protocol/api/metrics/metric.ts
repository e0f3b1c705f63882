// One metric: its name, its meaning, and where its value is in a snapshot.

import { MAX_METRIC_LABELS } from '../requests.ts'
import type { Distribution, Snapshot } from '../snapshot/index.ts'

export interface Reading {
  labels?: Record<string, string>
  value: number
}

export interface Metric {
  name: string
  /** Short name for charts, and for /v1/series. */
  series: string
  kind: 'gauge' | 'counter' | 'histogram'
  unit: string
  help: string
  /** True if its label values come and go, so no history is kept. */
  passing?: true
  /** For charts, and for /metrics unless it is a histogram. */
  read(snapshot: Snapshot): number | Reading[] | undefined
  /** Of a histogram. */
  distribution?(snapshot: Snapshot): Distribution | undefined
}

export const gauge = (
  series: string,
  name: string,
  unit: string,
  help: string,
  read: Metric['read'],
): Metric => ({
  name: `waggle_${name}`,
  series,
  kind: 'gauge',
  unit,
  help,
  read,
})

export const counter = (
  series: string,
  name: string,
  unit: string,
  help: string,
  read: Metric['read'],
): Metric => ({
  name: `waggle_${name}_total`,
  series,
  kind: 'counter',
  unit,
  help,
  read,
})

/** `read` is what charts show of it. */
export const histogram = (
  series: string,
  name: string,
  unit: string,
  help: string,
  { distribution, read }: { distribution: NonNullable<Metric['distribution']>; read: Metric['read'] },
): Metric => ({ name: `waggle_${name}`, series, kind: 'histogram', unit, help, read, distribution })

/** A metric under the name that every program's has, such as `process_cpu_seconds_total`. */
export const standard = (name: string, metric: Metric): Metric => ({ ...metric, name })

/** One reading per key; keys beyond the limit are summed as `other`. */
export function labelled(label: string, values: Record<string, number> | undefined): Reading[] | undefined {
  if (!values) return undefined
  const entries = Object.entries(values)
  const kept = entries
    .slice(0, MAX_METRIC_LABELS)
    .map(([key, value]) => ({ labels: { [label]: key }, value }))
  const rest = entries.slice(MAX_METRIC_LABELS).reduce((sum, [, value]) => sum + value, 0)
  return entries.length > MAX_METRIC_LABELS ? [...kept, { labels: { [label]: 'other' }, value: rest }] : kept
}
