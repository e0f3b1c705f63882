// Figures of one policy that learns alone, by method: staleness and correction, estimator and group size, episodes.

import { mean } from '../../lab/frame/statistics.ts'
import type { Figure } from './figure.ts'
import { rangeOf } from './intervals.ts'
import { distinct, intervals, type Reader } from './series.ts'

interface ArmRun {
  arm: string
  seed: number
  reward: number
  sampled: number
  /** Of `staleness`. */
  lag: number
  /** Of `estimators`. */
  size: number
}

/** One panel for each value of what the arms were run at, with the same rows in all. */
function arms(
  runs: readonly ArmRun[],
  {
    title,
    at,
    values,
    reference,
  }: {
    title: string
    at: 'lag' | 'size'
    values: readonly { value: number; title: string }[]
    reference: number
  },
): Figure {
  const names = distinct(runs.map(({ arm }) => arm))
  const panels = values.map(({ value, title: head }, i) => ({
    kind: 'intervals' as const,
    title: head,
    x: 'reward in the end, 95 % interval',
    names: i === 0,
    reference,
    rows: intervals(
      names.map((name) => ({ name, runs: runs.filter((run) => run.arm === name && run[at] === value) })),
      ({ reward }) => reward,
    ),
  }))
  const range = panels.flatMap(rangeOf)
  return { title, panels: panels.map((panel) => ({ ...panel, range })) }
}

export function staleness(read: Reader): Figure {
  const runs = read<ArmRun>('staleness')
  const fresh = runs.filter(({ arm }) => arm === 'fresh')
  return arms(
    runs.filter(({ arm }) => arm !== 'fresh'),
    {
      title: 'Rollouts of older policies, by correction; dashed: of the newest',
      at: 'lag',
      values: [2, 8, 32].map((value) => ({ value, title: `${value} versions old` })),
      reference: mean(fresh.map(({ reward }) => reward)),
    },
  )
}

export function estimators(read: Reader): Figure {
  const runs = read<ArmRun>('estimators')
  return arms(runs, {
    title: 'Estimators at 40 000 generated tokens; dashed: GRPO in groups of 8',
    at: 'size',
    values: [2, 4, 8].map((value) => ({ value, title: `groups of ${value}` })),
    reference: mean(runs.filter(({ arm, size }) => arm === 'grpo' && size === 8).map(({ reward }) => reward)),
  })
}

export function episodes(read: Reader): Figure {
  const runs = read<ArmRun>('episodes')
  const named = distinct(runs.map(({ arm }) => arm)).map((name) => ({
    name: name === 'start' ? 'before' : name,
    runs: runs.filter(({ arm }) => arm === name),
  }))
  const before = mean(runs.filter(({ arm }) => arm === 'start').map(({ reward }) => reward))
  return {
    title: 'keys_and_doors after 120 000 tokens, by estimator; dashed: before',
    panels: [
      {
        kind: 'intervals',
        title: 'reward',
        x: 'reward in the end, 95 % interval',
        names: true,
        reference: before,
        rows: intervals(named, ({ reward }) => reward),
      },
      {
        kind: 'intervals',
        title: 'held-out accuracy, sampled',
        x: 'share of prompts, 95 % interval',
        names: false,
        reference: mean(runs.filter(({ arm }) => arm === 'start').map(({ sampled }) => sampled)),
        rows: intervals(named, ({ sampled }) => sampled),
      },
    ],
  }
}
