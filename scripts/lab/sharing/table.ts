// The table of nodes that share: each arm beside a node alone with the same seed.

import { markdown, mean, percent, show, summary } from '../frame/statistics.ts'
import { accuracyAt, type ByTokens, smoothed, tokensTo } from './by-tokens.ts'

export interface SharingRun extends ByTokens {
  rate: number
  seed: number
  /** Mean reward of a node's own rollouts, by round. */
  rewards: readonly number[]
}

/** Seeds above 100, on which rates are chosen, have rows of their own. */
export function sharingTable(runs: readonly SharingRun[], target: number | undefined): string {
  if (runs.length === 0) return 'no runs'
  // Where the arms that sample least end.
  const least = Math.min(...runs.map((run) => smoothed(run).at(-1)!.tokens))
  const aloneOf = ({ seed }: SharingRun) => runs.find((other) => other.arm === 'alone' && other.seed === seed)
  const keys = [...new Set(runs.map(({ arm, rate }) => `${arm} ${rate}`))].sort()
  const rows = keys.flatMap((key) => {
    const all = runs.filter((run) => `${run.arm} ${run.rate}` === key)
    return [all.filter(({ seed }) => seed > 100), all.filter(({ seed }) => seed <= 100)]
      .filter(({ length }) => length > 0)
      .map((some) => rowOf(some, { least, target, aloneOf }))
  })
  return markdown(
    [
      ...['arm', 'rate', 'seeds', 'held-out at start', 'at the end', 'greedy', 'reward, sum'],
      ...['own tokens (k)', 'held-out at equal own tokens', 'more than alone (points)'],
      ...['reward, % of alone', 'marked answers'],
      ...(target === undefined ? [] : [`own tokens (k) to ${target}`, 'times fewer than alone']),
    ],
    rows,
  )
}

function rowOf(
  some: readonly SharingRun[],
  {
    least,
    target,
    aloneOf,
  }: {
    least: number
    target: number | undefined
    aloneOf(run: SharingRun): SharingRun | undefined
  },
): string[] {
  const { arm, rate } = some[0]!
  /** Of each run with one alone beside it. */
  const beside = (read: (run: SharingRun, alone: SharingRun) => number | undefined): number[] =>
    some.flatMap((run) => {
      const alone = aloneOf(run)
      return (alone && read(run, alone)) ?? []
    })
  const over = (read: (run: SharingRun) => number, digits?: number): string =>
    show(summary(some.map(read)), digits)
  const shown = (values: readonly number[], digits: number): string =>
    values.length > 0 ? show(summary(values), digits) : ''
  const others = (read: Parameters<typeof beside>[0]): number[] => (arm === 'alone' ? [] : beside(read))
  const marks = some.flatMap(({ looks }) => looks.at(-1)!.marked ?? [])
  const cells = [
    ...[arm, `${rate}`, some.map(({ seed }) => seed).join(' ')],
    over(({ looks }) => looks[0]!.sampled),
    over(({ looks }) => mean(looks.slice(-3).map(({ sampled }) => sampled))),
    over(({ looks }) => mean(looks.slice(-3).map(({ greedy }) => greedy))),
    over(({ rewards }) => sum(rewards), 1),
    over((run) => smoothed(run).at(-1)!.tokens / 1000, 0),
    over((run) => accuracyAt(least, run)),
    shown(
      others((run, alone) => 100 * (accuracyAt(least, run) - accuracyAt(least, alone))),
      1,
    ),
    shown(
      others((run, alone) => (100 * sum(run.rewards)) / sum(alone.rewards.slice(0, run.rewards.length))),
      0,
    ),
    marks.length > 0 ? percent(mean(marks)) : '',
  ]
  if (target === undefined) return cells
  const reached = some.flatMap((run) => tokensTo(target, run) ?? [])
  const fewer = beside((run, alone) => {
    const [a, b] = [tokensTo(target, alone), tokensTo(target, run)]
    return a === undefined || b === undefined ? undefined : a / b
  })
  return [
    ...cells,
    reached.length === some.length
      ? show(summary(reached.map((tokens) => tokens / 1000)), 0)
      : `${reached.length} of ${some.length} reached it`,
    shown(fewer, 2),
  ]
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
