// The figure of nodes that average their weights: held-out accuracy by what one node spent, alone and with peers.

import { mean } from '../frame/statistics.ts'
import type { HeadLook } from '../heads/dense.ts'
import type { Figure } from './figure.ts'
import type { LinePanel } from './lines.ts'
import type { Reader } from './series.ts'

interface HeadRun {
  arm: string
  rate: number
  seed: number
  looks: readonly Pick<HeadLook, 'sampledTokens' | 'processorSeconds' | 'sampled'>[]
}

/** The best settings of each number of nodes. */
const ARMS: readonly { name: string; file: string; arm: string; rate: number }[] = [
  { name: 'alone', file: 'alone', arm: '1 8x2', rate: 1e-4 },
  { name: 'alone, 16 prompts', file: 'alone', arm: '1 16x4', rate: 2e-4 },
  { name: '1 peer', file: 'heads', arm: '2 8x4', rate: 2e-4 },
  { name: '3 peers', file: 'heads', arm: '4 8x4', rate: 2.8e-4 },
  { name: '7 peers', file: 'heads', arm: '8 8x4', rate: 4e-4 },
]
/** Seeds of the tables; others tuned the settings. */
const isReported = ({ seed }: HeadRun): boolean => seed < 100

export function weights(read: Reader): Figure {
  const panel = (x: string, unit: (look: HeadRun['looks'][number]) => number): LinePanel => ({
    kind: 'lines',
    title: 'held-out accuracy in %, mean of seeds',
    x,
    series: ARMS.map(({ name, file, arm, rate }) => {
      const runs = read<HeadRun>(file).filter(
        (run) => run.arm === arm && run.rate === rate && isReported(run),
      )
      return { name, points: curve(runs, unit) }
    }),
  })
  return {
    title: 'What averaging weights saves',
    panels: [
      panel('own sampled tokens in thousands', ({ sampledTokens }) => sampledTokens / 1000),
      panel('processor seconds of one node', ({ processorSeconds }) => processorSeconds),
    ],
  }
}

/** Means over runs of means over three looks. */
function curve(
  runs: readonly HeadRun[],
  unit: (look: HeadRun['looks'][number]) => number,
): [number, number][] {
  const shortest = Math.min(...runs.map(({ looks }) => looks.length))
  return Array.from({ length: Math.max(0, shortest - 2) }, (_, i) => {
    const three = runs.flatMap(({ looks }) => looks.slice(i, i + 3))
    return [mean(three.map(unit)), 100 * mean(three.map(({ sampled }) => sampled))]
  })
}
