// Records of runs as lines and intervals.

import { mean, summary } from '../../lab/frame/statistics.ts'
import type { IntervalPanel } from './intervals.ts'

/** Lines of one record file, as its experiment wrote them. */
export type Reader = <Run>(file: string) => readonly Run[]

/** Each round's mean over runs, and over so many rounds around it: single rounds are of a few prompts. */
export function smooth(curves: readonly (readonly number[])[], around: number): [number, number][] {
  const rounds = Math.min(...curves.map(({ length }) => length))
  const means = Array.from({ length: rounds }, (_, i) => mean(curves.map((curve) => curve[i]!)))
  return means.map((_, i) => [
    i + 1,
    mean(means.slice(Math.max(0, i - around), Math.min(rounds, i + around + 1))),
  ])
}

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
