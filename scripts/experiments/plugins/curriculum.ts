// Does choosing levels by itself teach more than a level that somebody chose? For the same tokens, over a task's levels.
// `npm run -s experiment:curriculum [-- --seeds 3 --tokens 40000 --arms 'level 0;gdro_like' --out FILE]`
//
// The model of three tasks learns basic_arithmetic with new prompts, in rounds of 32 rollouts. `level 0` and `level 1` ask
// one level; `evenly` asks all seven alike; `gdro_like` chooses. Prints the held-out accuracy at each of the first levels,
// and the share of groups with a signal. Finished runs are kept.

import { parseArgs } from 'node:util'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { hasSignal } from '../../../protocol/train/index.ts'
import { markdown, mean, percent, show, summary } from '../../lab/frame/statistics.ts'
import { type ArmRun, learnFor, playArms } from '../in-process/arms.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { loadStart } from '../in-process/start.ts'
import { accuracy } from './answers.ts'
import { createHookedNode } from './hooked-node.ts'
import type { ChosenPlugins } from './host.ts'

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '40000' },
    /** Separated by semicolons. */
    arms: { type: 'string' },
    'held-out': { type: 'string', default: '100' },
    'learning-rate': { type: 'string', default: '1e-4' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: '.cache/experiments/curriculum.jsonl' },
  },
})
const MAX_NEW_TOKENS = 64
/** Levels that are evaluated; at higher ones this model solves nothing. */
const LEVELS = [0, 1, 2]

interface Arm {
  plugins: ChosenPlugins
  difficulty: number
}
const chosen = (settings: Record<string, unknown> = {}): Arm => ({
  plugins: { selector: { use: 'gdro_like', ...settings } },
  difficulty: 0,
})
const ARMS: Record<string, Arm> = {
  'level 0': { plugins: {}, difficulty: 0 },
  'level 1': { plugins: {}, difficulty: 1 },
  evenly: chosen({ sharpness: 0, rollouts: 'even' }),
  gdro_like: chosen(),
  'gdro_like, rollouts even': chosen({ rollouts: 'even' }),
  'gdro_like, by failure': chosen({ by: 'failure' }),
}
const arms = flags.arms?.split(';') ?? ['level 0', 'level 1', 'evenly', 'gdro_like']
const task = TASKS.find(({ name }) => name === 'basic_arithmetic')!
const heldOut = await Promise.all(
  LEVELS.map((level) => heldOutPrompts(task, level, Number(flags['held-out']))),
)

interface Run extends ArmRun {
  updates: number
  /** Share of groups with a signal. */
  signal: number
  /** Mean level of the prompts that were asked in the last quarter of the rounds. */
  level: number
  /** Held-out accuracy, by level. */
  heldOut: number[]
}

const engine = createLocalEngine({ threads: Number(flags.threads) })
const { model } = await loadStart('three-tasks')
const look = async (): Promise<number[]> => {
  const found: number[] = []
  for (const prompts of heldOut)
    found.push(await accuracy(prompts, { engine, model, task, maxNewTokens: MAX_NEW_TOKENS }))
  return found
}

await engine.open({ spec: model.spec, weights: model.weights })
const before = await look()
const all = await playArms<Arm, Run>(
  {
    arms: ARMS,
    names: arms,
    seeds: Number(flags.seeds),
    settings: [flags.tokens, flags['learning-rate'], flags['held-out']].join('/'),
    out: flags.out,
  },
  {
    play,
    tell: ({ arm, seed, heldOut: found, seconds }) =>
      process.stderr.write(
        `${arm}, seed ${seed}: ${found.map(percent).join(', ')}, ${seconds.toFixed(0)} s\n`,
      ),
  },
)
await engine.close()

async function play({ plugins, difficulty }: Arm, seed: number): Promise<Omit<Run, keyof ArmRun>> {
  const node = await createHookedNode({
    seed,
    model,
    tasks: TASKS,
    learnsFrom: { name: task.name, difficulty },
    plugins,
    prompts: 4,
    groupSize: 8,
    maxNewTokens: MAX_NEW_TOKENS,
    learningRate: Number(flags['learning-rate']),
    engines: { policy: engine, roles: {} },
  })
  const signals: number[] = []
  const levels: number[] = []
  await learnFor(node, Number(flags.tokens), ({ groups }) => {
    signals.push(groups.filter(hasSignal).length / groups.length)
    levels.push(mean(groups.map(({ prompt }) => prompt.difficulty)))
  })
  return {
    updates: node.updates,
    signal: mean(signals),
    level: mean(levels.slice(-Math.ceil(levels.length / 4))),
    heldOut: await look(),
  }
}

console.log(`${flags.tokens} tokens a run; before: ${before.map(percent).join(', ')}`)
console.log(
  markdown(
    [
      'arm',
      'groups with a signal',
      ...LEVELS.map((level) => `level ${level}`),
      'mean',
      'level at the end',
      'runs',
    ],
    arms.flatMap((arm) => {
      const runs = all.filter((run) => run.arm === arm)
      if (runs.length === 0) return []
      return [
        [
          arm,
          percent(mean(runs.map(({ signal }) => signal))),
          ...LEVELS.map((_, i) => show(summary(runs.map((run) => run.heldOut[i]!)))),
          show(summary(runs.map((run) => mean(run.heldOut)))),
          mean(runs.map(({ level }) => level)).toFixed(1),
          String(runs.length),
        ],
      ]
    }),
  ),
)
