// The records of the hint experiment, and the table of its arms.

import { markdown, mean, show, summary } from '../../lab/frame/statistics.ts'

export interface Run {
  arm: string
  seed: number
  tokens: number
  learningRate: number
  steps: number
  rounds: number
  updates: number
  /** Share of rounds' prompts that a group with a signal came from. */
  signal: number
  /** Of the set without hints: sampled and greedy, before and after. */
  set: { before: [number, number]; after: [number, number] }
  heldOut: { before: [number, number]; after: [number, number] }
  seconds: number
}

export function tableOf(
  runs: readonly Run[],
  arms: readonly string[],
  before: { set: [number, number]; heldOut: [number, number] },
): string {
  const points = (values: readonly number[]): string => show(summary(values.map((value) => 100 * value)), 1)
  const head = [
    'arm',
    'seeds',
    'rounds',
    'updates',
    'groups with a signal',
    'set: sampled',
    'greedy',
    'held-out: sampled',
    'greedy',
  ]
  const rows = arms.flatMap((arm) => {
    const own = runs.filter((run) => run.arm === arm)
    if (own.length === 0) return []
    const of = (read: (run: Run) => number): string => points(own.map(read))
    const count = (read: (run: Run) => number): string => mean(own.map(read)).toFixed(0)
    return [
      [
        arm,
        `${own.length}`,
        count(({ rounds }) => rounds),
        count(({ updates }) => updates),
        `${of(({ signal }) => signal)} %`,
        of(({ set }) => set.after[0]),
        of(({ set }) => set.after[1]),
        of(({ heldOut }) => heldOut.after[0]),
        of(({ heldOut }) => heldOut.after[1]),
      ],
    ]
  })
  const start = [
    'before',
    '',
    '',
    '',
    '',
    ...[...before.set, ...before.heldOut].map((share) => (100 * share).toFixed(1)),
  ]
  return markdown(head, [start, ...rows])
}
