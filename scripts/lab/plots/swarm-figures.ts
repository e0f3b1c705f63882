// Figures of nodes that share: what peers save in swarms and among daemons.

import { mean } from '../frame/statistics.ts'
import { type ByTokens, smoothed, tokensTo } from '../sharing/by-tokens.ts'
import type { Figure } from './figure.ts'
import { distinct, intervals, type Reader } from './series.ts'

interface SavingsRun extends ByTokens {
  setting: string
  seed: number
  rounds: number
}

/** Of the swarms of 80 rounds, with the reported seeds. */
export function savings(read: Reader): Figure {
  const runs = read<SavingsRun>('sharing').filter(
    ({ setting, seed, rounds }) => setting === 'dense' && seed < 100 && rounds === 80,
  )
  const alone = runs.filter(({ arm }) => arm === 'alone')
  const sizes = distinct(runs.map(({ nodes }) => nodes)).sort((a, b) => a - b)
  const swarms = sizes
    .map((size) => ({
      name: `${size} nodes`,
      runs: runs.filter(({ arm, nodes }) => arm === 'common-batch' && nodes === size),
    }))
    .filter(({ runs: some }) => some.length > 2)
  const curve = (some: readonly SavingsRun[]): [number, number][] => {
    const smooth = some.map((run) => smoothed(run))
    return smooth[0]!.map((_, i) => [
      mean(smooth.map((one) => one[i]!.tokens)) / 1000,
      100 * mean(smooth.map((one) => one[i]!.sampled)),
    ])
  }
  const saved =
    (target: number) =>
    (run: SavingsRun): number | undefined => {
      const base = alone.find(({ seed }) => seed === run.seed)
      const [without, within] = [base && tokensTo(target, base), tokensTo(target, run)]
      return without !== undefined && within !== undefined ? without / within : undefined
    }
  return {
    title: 'What peers save, with all defaults',
    panels: [
      {
        kind: 'lines',
        title: 'held-out accuracy in %, mean of seeds',
        x: 'own sampled tokens in thousands',
        series: [{ name: 'alone', runs: alone }, ...swarms].map(({ name, runs: some }) => ({
          name,
          points: curve(some),
        })),
      },
      {
        kind: 'intervals',
        title: 'own tokens to an accuracy (seeds that reached it)',
        x: 'times fewer than alone with the same seed, 95 % interval',
        names: true,
        reference: 1,
        rows: [14, 15, 16].flatMap((percent) =>
          intervals(
            swarms.map(({ name, runs: some }) => {
              const reached = some.filter((run) => saved(percent / 100)(run) !== undefined)
              return {
                name: `${name}, ${percent} % (${reached.length} of ${some.length})`,
                runs: some,
              }
            }),
            saved(percent / 100),
          ),
        ),
      },
    ],
  }
}

/** Daemons, each looked at after so many own groups. `arm`: how many they were. */
interface DaemonRun {
  arm: string
  rate: number
  settings: { training: string }
  looks: readonly { groups: number; sampled: number }[]
}

/** Batches of a node alone that trains an adapter, by the settings of their records. */
const BATCHES: readonly { training: string; name: string }[] = [
  { training: 'method = "lora"', name: 'growing, 4 to 16' },
  { training: 'method = "lora",batch_ramp_steps = 400', name: 'more slowly' },
  { training: 'method = "lora",batch_groups = 4,batch_ramp_steps = 0', name: 'always 4' },
]

/** Daemons that were looked at after as many own groups. */
export function daemons(read: Reader): Figure {
  const runs = read<DaemonRun>('daemons')
  const points = (some: typeof runs): [number, number][] =>
    [
      ...Map.groupBy(
        some.flatMap(({ looks }) => looks),
        ({ groups }) => groups,
      ),
    ]
      .map(([groups, looks]): [number, number] => [groups, 100 * mean(looks.map(({ sampled }) => sampled))])
      .sort(([a], [b]) => a - b)
  const of = (training: string, rate: number) =>
    runs.filter((run) => run.settings.training === training && run.rate === rate)
  const plain = of('', 1e-4)
  return {
    title: 'Daemons by own groups written: held-out accuracy in %, mean of daemons and runs',
    panels: [
      {
        kind: 'lines',
        title: 'all parameters trained, alone and together',
        x: 'own groups',
        series: distinct(plain.map(({ arm }) => Number(arm)))
          .sort((a, b) => a - b)
          .map((size) => ({
            name: size === 1 ? 'alone' : `${size} daemons`,
            points: points(plain.filter(({ arm }) => Number(arm) === size)),
          })),
      },
      {
        kind: 'lines',
        title: 'an adapter, alone, by the size of a batch',
        x: 'own groups',
        series: BATCHES.map(({ training, name }) => ({
          name,
          points: points(of(training, 1e-3).filter(({ arm }) => arm === '1')),
        })),
      },
    ],
  }
}
