// Records of runs as lines and intervals.

import { summary } from '../frame/statistics.ts'
import type { IntervalPanel } from './intervals.ts'

/** Lines of one record file, as its experiment wrote them. */
export type Reader = <Run>(file: string) => readonly Run[]

export const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)]

export function intervals<Run>(
  groups: readonly { name: string; runs: readonly Run[] }[],
  read: (run: Run) => number | undefined,
): IntervalPanel['rows'] {
  return groups.map(({ name, runs }) => {
    const values = runs.map(read).filter((value) => value !== undefined)
    return values.length === 0 ? { name } : { name, ...summary(values) }
  })
}
