// The records of the replay experiment, and their table.

import { markdown, show, summary } from '../../lab/frame/statistics.ts'
import type { ArmRun, Look } from '../in-process/arms.ts'

export interface ReplayRun extends ArmRun {
  rounds: number
  updates: number
  /** Share of a round's groups, reflections included, with both right and wrong answers. */
  fresh: number
  /** Rollouts that a batch had from earlier rounds. */
  replayed: number
  /** Accuracy on the set, without plugins. */
  curve: Look[]
  heldOut: number
}

/** Generated tokens until the accuracy was first there, between two looks by a straight line. */
export function tokensTo(target: number, curve: ReplayRun['curve']): number | undefined {
  const index = curve.findIndex(({ set }) => set >= target)
  if (index < 1) return index === 0 ? 0 : undefined
  const [from, to] = [curve[index - 1]!, curve[index]!]
  return from.tokens + ((target - from.set) / (to.set - from.set)) * (to.tokens - from.tokens)
}

export function table(
  runs: readonly ReplayRun[],
  {
    arms,
    before,
    target,
  }: { arms: readonly string[]; before: { set: number; heldOut: number }; target: number },
): string {
  const head = [
    'arm',
    'seeds',
    'rounds',
    'updates',
    'mixed groups',
    'replayed, a round',
    `tokens to ${100 * target} %`,
    'set',
    'held-out',
    's',
  ]
  const points = (values: readonly number[]): string => show(summary(values.map((value) => 100 * value)), 1)
  const rows = arms.flatMap((arm) => {
    const own = runs.filter((run) => run.arm === arm)
    if (own.length === 0) return []
    const of = (read: (run: ReplayRun) => number): string => points(own.map(read))
    const count = (read: (run: ReplayRun) => number, digits = 0): string =>
      show(summary(own.map(read)), digits)
    const reached = own.flatMap(({ curve }) => tokensTo(target, curve) ?? [])
    const there = reached.length === 0 ? 'never' : show(summary(reached), 0)
    return [
      [
        arm,
        `${own.length}`,
        count(({ rounds }) => rounds),
        count(({ updates }) => updates),
        of(({ fresh }) => fresh),
        count(({ replayed }) => replayed, 1),
        reached.length > 0 && reached.length < own.length
          ? `${there} (${reached.length} of ${own.length})`
          : there,
        of(({ curve }) => curve.at(-1)!.set),
        of(({ heldOut }) => heldOut),
        count(({ seconds }) => seconds),
      ],
    ]
  })
  const start = [
    'before',
    '',
    '',
    '',
    '',
    '',
    '',
    (100 * before.set).toFixed(1),
    (100 * before.heldOut).toFixed(1),
    '',
  ]
  return markdown(head, [start, ...rows])
}
