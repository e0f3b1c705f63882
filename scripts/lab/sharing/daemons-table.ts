// What daemons save each other, from the records of daemons.ts: held-out accuracy by own groups, beside a node alone.

import { markdown, mean, percent } from '../frame/statistics.ts'

/** A daemon's accuracy after so many own groups. */
export interface DaemonLook {
  /** The daemon of the run that was looked at. */
  node: number
  seconds: number
  /** Own groups that it was to have written, and those that it had. */
  groups: number
  own: number
  steps: number
  /** Foreign groups trained on. */
  foreign: number
  sampled: number
  greedy?: number
}

/** `arm`: how many daemons. */
export interface DaemonRun {
  arm: string
  rate: number
  looks: readonly DaemonLook[]
}

type Point = readonly [groups: number, sampled: number]

/** Mean accuracy by own groups. */
export function meanLine(looks: readonly Pick<DaemonLook, 'groups' | 'sampled'>[]): Point[] {
  const byGroups = Map.groupBy(looks, ({ groups }) => groups)
  return [...byGroups]
    .map(([groups, some]): Point => [groups, mean(some.map(({ sampled }) => sampled))])
    .sort(([a], [b]) => a - b)
}

/** Groups at which the line first reaches that accuracy, between looks by a straight line; undefined if it is not seen to. */
export function groupsTo(sampled: number, line: readonly Point[]): number | undefined {
  const at = line.findIndex(([, reached]) => reached >= sampled)
  if (at <= 0) return undefined
  const [[from, low], [to, high]] = [line[at - 1]!, line[at]!]
  return from + ((sampled - low) / (high - low)) * (to - from)
}

/** Runs at each rate beside a daemon alone at that rate. */
export function savingsTable(runs: readonly DaemonRun[]): string {
  const rates = [...new Set(runs.map(({ rate }) => rate))]
  const rows = rates.flatMap((rate) => rowsOf(runs.filter((run) => run.rate === rate)))
  return markdown(
    [
      ...['daemons', 'rate', 'runs', 'own groups', 'steps', 'held-out, mean', 'all looks (%)'],
      'times fewer own groups than alone',
    ],
    rows,
  )
}

function rowsOf(runs: readonly DaemonRun[]): string[][] {
  const looksOf = (size: number) =>
    runs.filter(({ arm }) => Number(arm) === size).flatMap(({ looks }) => looks)
  const alone = meanLine(looksOf(1))
  const sizes = [...new Set(runs.map(({ arm }) => Number(arm)))].sort((a, b) => a - b)
  return sizes.flatMap((size) =>
    meanLine(looksOf(size)).map(([groups, sampled]) => {
      const some = looksOf(size).filter((look) => look.groups === groups)
      const needed = size === 1 ? undefined : groupsTo(sampled, alone)
      return [
        ...[`${size}`, `${runs[0]!.rate}`, `${some.length / size}`, `${groups}`],
        span(
          some.map(({ steps }) => steps),
          (steps) => `${steps}`,
        ),
        percent(sampled),
        span(
          some.map((look) => look.sampled),
          (share) => (100 * share).toFixed(1),
        ),
        needed === undefined ? '' : (needed / groups).toFixed(1),
      ]
    }),
  )
}

function span(values: readonly number[], show: (value: number) => string): string {
  if (values.length === 0) return ''
  const [low, high] = [show(Math.min(...values)), show(Math.max(...values))]
  return low === high ? low : `${low} to ${high}`
}
