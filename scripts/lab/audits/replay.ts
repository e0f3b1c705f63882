// How exactly can a step be computed again, and how far from it is a forged one?
// `npm run -s lab:replay [-- --arms dense,lora --seeds 1,2,3 --rounds 20]`
//
// Engines: again (the same, a fresh one), threads2, short (micro-batches of 512 tokens), checkpointing (recomputes each
// layer), tfjs (TensorFlow.js, another program altogether). Forgeries, of the state after the step: see FORGERIES.

import type { AdapterSpec } from '../../../daemon/engine/decoder.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { createTfjsEngine } from '../../../daemon/engine/tfjs/index.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { type Difference, differenceOf, excess, isSame, SAME } from '../../../daemon/trainer/audit/compare.ts'
import { type FullState, hashesOf } from '../../../daemon/trainer/audit/state.ts'
import { runExperiment } from '../frame/experiment.ts'
import { markdown } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { adapterOf, recordedSteps } from './recorded-steps.ts'

interface Replayed extends Difference {
  step: number
  /** Or the kind of forgery. */
  engine: string
  isSame: boolean
  /** Whether an audit fails. */
  fails: boolean
  /** Processor seconds; 0 of a forgery. */
  seconds: number
}

const engines = async (): Promise<Record<string, Engine>> => ({
  again: createLocalEngine({ threads: 1 }),
  threads2: createLocalEngine({ threads: 2 }),
  short: createLocalEngine({ threads: 1, microBatchTokens: 512 }),
  checkpointing: createLocalEngine({ threads: 1, checkpointing: true }),
  tfjs: await createTfjsEngine(),
})

type Forgery = (movement: number, place: number, drift: Float32Array, length: number) => number

/** What a forger adds to the weights instead of the movement. `drift`: one direction of length 1 for the whole run. */
const FORGERIES: Record<string, Forgery> = {
  'sign flipped': (movement) => -movement,
  'ten times as long': (movement) => 10 * movement,
  '1 % longer': (movement) => 1.01 * movement,
  'nothing learnt': () => 0,
  'random, as long': (_, i, drift, length) => length * drift[i]!,
  'drift of a tenth': (movement, i, drift, length) => movement + 0.1 * length * drift[i]!,
  'drift of a hundredth': (movement, i, drift, length) => movement + 0.01 * length * drift[i]!,
  'drift of 3 in a thousand': (movement, i, drift, length) => movement + 0.003 * length * drift[i]!,
}

function forged(
  { weights, ...rest }: FullState,
  before: FullState,
  forge: Forgery,
  drift: Float32Array,
): FullState {
  const movement = weights.map((value, i) => value - before.weights[i]!)
  const length = Math.sqrt(movement.reduce((sum, value) => sum + value * value, 0))
  return { ...rest, weights: before.weights.map((value, i) => value + forge(movement[i]!, i, drift, length)) }
}

function driftOf(size: number, seed: number): Float32Array {
  const random = randomStream(seed, 'drift')
  const drift = Float32Array.from({ length: size }, () => 2 * random() - 1)
  const length = Math.sqrt(drift.reduce((sum, value) => sum + value * value, 0))
  return drift.map((value) => value / length)
}

async function play(
  adapter: AdapterSpec | undefined,
  rounds: number,
  seed: number,
  names: readonly string[],
): Promise<Replayed[]> {
  const all = await engines()
  const found: Replayed[] = []
  let drift: Float32Array | undefined
  for await (const { step, again } of recordedSteps(adapter, rounds, seed)) {
    const { before, after, version } = step
    drift ??= driftOf(after.weights.length, seed)
    const judge = (engine: string, computed: FullState, claimed: FullState, seconds: number): void => {
      const same = isSame(computed, hashesOf(claimed))
      const difference = same ? SAME : differenceOf(before, computed, claimed)
      found.push({
        step: version,
        engine,
        isSame: same,
        fails: excess(difference) !== undefined,
        ...difference,
        seconds,
      })
    }
    for (const name of names) {
      const started = process.cpuUsage()
      const computed = await again(all[name]!)
      const { user, system } = process.cpuUsage(started)
      judge(name, computed, after, (user + system) / 1e6)
    }
    for (const [name, forge] of Object.entries(FORGERIES))
      judge(name, after, forged(after, before, forge, drift), 0)
  }
  for (const one of Object.values(all)) await one.close()
  return found
}

await runExperiment<AdapterSpec | undefined, { steps: Replayed[] }>({
  question:
    'How far is a step from itself when another engine computes it again, and a forged step from the right one?',
  defaults: { arms: 'dense,lora', rates: '1e-4', seeds: '1,2,3', out: 'docs/results/audits.jsonl' },
  flags: {
    rounds: { type: 'string', default: '12' },
    engines: { type: 'string', default: 'again,threads2,short,checkpointing,tfjs' },
  },
  settings: ({ rounds, engines: names }) => ({ rounds: Number(rounds), engines: String(names) }),
  isComparable: () => true,
  arm: adapterOf,
  play: async (adapter, { seed, values }) => ({
    steps: await play(adapter, Number(values.rounds), seed, String(values.engines).split(',')),
  }),
  table(runs) {
    const steps = runs.flatMap(({ arm, steps: some }) => some.map((step) => ({ ...step, arm })))
    const rows = Object.entries(Object.groupBy(steps, ({ arm, engine }) => `${arm}, ${engine}`)).map(
      ([name, some = []]) => {
        const most = (read: (step: Replayed) => number): string =>
          Math.max(...some.map(read)).toExponential(1)
        return [
          ...[name, String(some.length), String(some.filter((step) => step.isSame).length)],
          String(some.filter((step) => step.fails).length),
          ...[most((step) => 1 - step.cosine), most((step) => step.movement)],
          ...[most((step) => step.first), most((step) => step.second)],
          (some.reduce((sum, { seconds }) => sum + seconds, 0) / some.length).toFixed(2),
        ]
      },
    )
    const head = [
      'engine or forgery',
      'steps',
      'same bits',
      'fail',
      '1 - cosine',
      'movement',
      'first',
      'second',
      's',
    ]
    return markdown(head, rows)
  },
})
