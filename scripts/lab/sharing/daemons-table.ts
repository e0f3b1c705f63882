// What daemons save each other, from the records of together.ts: held-out accuracy by own groups, beside a node alone.

import { markdown, mean, percent } from '../frame/statistics.ts'

/** A daemon's accuracy after so many own groups. */
export interface DaemonLook {
  /** Daemons in the run, and the one that was looked at. */
  nodes: number
  node: number
  /** Keys of [training] that were set. */
  training: string
  /** Own groups that it was to have written. */
  groups: number
  steps: number
  sampled: number
}

type Point = readonly [groups: number, sampled: number]

/** Mean accuracy by own groups. */
export function meanLine(looks: readonly DaemonLook[]): Point[] {
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

export function savingsTable(all: readonly DaemonLook[], training: string): string {
  const looks = all.filter((look) => look.training === training)
  const alone = meanLine(looks.filter(({ nodes }) => nodes === 1))
  const sizes = [...new Set(looks.map(({ nodes }) => nodes))].sort((a, b) => a - b)
  const rows = sizes.flatMap((size) => {
    const theirs = looks.filter(({ nodes }) => nodes === size)
    return meanLine(theirs).map(([groups, sampled]) => {
      const some = theirs.filter((look) => look.groups === groups)
      const needed = size === 1 ? undefined : groupsTo(sampled, alone)
      return [
        ...[`${size}`, `${some.length / size}`, `${groups}`],
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
    })
  })
  return markdown(
    [
      ...['daemons', 'runs', 'own groups', 'steps', 'held-out, mean', 'all looks (%)'],
      'times fewer own groups than alone',
    ],
    rows,
  )
}

function span(values: readonly number[], show: (value: number) => string): string {
  if (values.length === 0) return ''
  const [low, high] = [show(Math.min(...values)), show(Math.max(...values))]
  return low === high ? low : `${low} to ${high}`
}
