// What is gained by choosing prompts and the number of rollouts for each? On recurring prompts, for the same tokens.
// `npm run -s experiment:selection [-- --seeds 3 --tokens 120000 --arms 'uniform;vade' --out FILE]`
//
// A fixed, unfiltered set of prompts of fraction_simplification at level 1. The model of three tasks hardly ever gets
// most of them right, so most groups of 8 have no signal. Each arm learns until it has generated the same number of
// tokens, including second rounds and shown problems, with 64 rollouts per round before any second round. Prints the
// share of groups with a signal; accuracy on the set, without plugins, at every sixth of the way; tokens to a target;
// held-out accuracy at the end. Compare dars with dr_grpo, whose advantage it uses. spo has one rollout per prompt
// and no groups. Finished runs are kept.

import { parseArgs } from 'node:util'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { hasSignal, type PromptCoordinates } from '../../../protocol/train/index.ts'
import { markdown, mean, percent, show, summary } from '../../lab/frame/statistics.ts'
import { type ArmRun, type Look, learnFor, playArms } from '../in-process/arms.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { loadStart } from '../in-process/start.ts'
import { accuracy } from './answers.ts'
import { createHookedNode } from './hooked-node.ts'
import type { ChosenPlugins } from './host.ts'

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '120000' },
    /** Separated by semicolons. */
    arms: { type: 'string' },
    prompts: { type: 'string', default: '64' },
    'held-out': { type: 'string', default: '128' },
    'learning-rate': { type: 'string', default: '1e-4' },
    target: { type: 'string', default: '0.25' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: '.cache/experiments/selection.jsonl' },
  },
})
const LOOKS = 6
const MAX_NEW_TOKENS = 64
interface Arm {
  plugins: ChosenPlugins
  prompts: number
  groupSize: number
}
const eight = (plugins: ChosenPlugins): Arm => ({ plugins, prompts: 8, groupSize: 8 })
const ARMS: Record<string, Arm> = {
  uniform: eight({}),
  vade: eight({ controls: [{ use: 'vade' }] }),
  'vade, top': eight({ selector: { use: 'uniform', pick: 'top' }, controls: [{ use: 'vade' }] }),
  dr_grpo: eight({ estimator: { use: 'dr_grpo' } }),
  dars: eight({ estimator: { use: 'dr_grpo' }, controls: [{ use: 'dars' }] }),
  'dars, weighted': eight({
    estimator: { use: 'dr_grpo' },
    controls: [{ use: 'dars', schedule: 'weighted' }],
  }),
  xrpo: { plugins: { controls: [{ use: 'xrpo' }] }, prompts: 8, groupSize: 4 },
  'xrpo, nothing shown': {
    plugins: { controls: [{ use: 'xrpo', exemplars: 0 }] },
    prompts: 8,
    groupSize: 4,
  },
  spo: { plugins: { estimator: { use: 'spo' } }, prompts: 64, groupSize: 1 },
}
const arms = flags.arms?.split(';') ?? Object.keys(ARMS)
const task = TASKS.find(({ name }) => name === 'fraction_simplification')!
const at = (seed: number): PromptCoordinates => ({
  task: task.name,
  taskVersion: task.version,
  seed,
  difficulty: 1,
})
const set = Array.from({ length: Number(flags.prompts) }, (_, i) => at(1000 + i))
const heldOut = await heldOutPrompts(task, 1, Number(flags['held-out']))
const settings = [flags.prompts, flags.tokens, flags['learning-rate']].join('/')

interface Run extends ArmRun {
  rounds: number
  updates: number
  /** Share of groups with a signal; for spo, of rollouts that were learnt from: all. */
  signal: number
  curve: Look[]
  heldOut: number
}

const engine = createLocalEngine({ threads: Number(flags.threads) })
const { model } = await loadStart('three-tasks')
const ask = { engine, model, task, maxNewTokens: MAX_NEW_TOKENS }

await engine.open({ spec: model.spec, weights: model.weights })
const before = { set: await accuracy(set, ask), heldOut: await accuracy(heldOut, ask) }
const all = await playArms<Arm, Run>(
  { arms: ARMS, names: arms, seeds: Number(flags.seeds), settings, out: flags.out },
  {
    play,
    tell: ({ arm, seed, curve, rounds, seconds }) =>
      process.stderr.write(
        `${arm}, seed ${seed}: set ${percent(curve.at(-1)!.set)}, ${rounds} rounds, ${seconds.toFixed(0)} s\n`,
      ),
  },
)
await engine.close()

async function play(arm: Arm, seed: number): Promise<Omit<Run, keyof ArmRun>> {
  const node = await createHookedNode({
    seed,
    model,
    tasks: TASKS,
    learnsFrom: set,
    ...arm,
    maxNewTokens: MAX_NEW_TOKENS,
    learningRate: Number(flags['learning-rate']),
    engines: { policy: engine, roles: {} },
  })
  const signals: number[] = []
  const curve = await learnFor(
    node,
    Number(flags.tokens),
    ({ groups }) =>
      signals.push(groups.filter((group) => arm.groupSize === 1 || hasSignal(group)).length / groups.length),
    { count: LOOKS, first: before.set, look: () => accuracy(set, ask) },
  )
  return {
    rounds: signals.length,
    updates: node.updates,
    signal: mean(signals),
    curve,
    heldOut: await accuracy(heldOut, ask),
  }
}

console.log(
  `${set.length} prompts, ${percent(before.set)} right before; held-out ${percent(before.heldOut)}; ${flags.tokens} tokens a run`,
)
console.log(
  markdown(
    [
      'arm',
      'groups with a signal',
      'set: mean over the way',
      'set: end',
      `tokens to ${flags.target}`,
      'held-out',
      'updates',
      'runs',
    ],
    arms.flatMap((arm) => {
      const runs = all.filter((run) => run.arm === arm)
      if (runs.length === 0) return []
      const reached = runs.map(({ curve }) => curve.find((look) => look.set >= Number(flags.target))?.tokens)
      const known = reached.filter((one) => one !== undefined)
      return [
        [
          arm,
          percent(mean(runs.map(({ signal }) => signal))),
          show(summary(runs.map(({ curve }) => mean(curve.slice(1).map((look) => look.set))))),
          show(summary(runs.map(({ curve }) => curve.at(-1)!.set))),
          known.length === 0 ? 'none' : `${Math.round(mean(known))} (${known.length} of ${runs.length})`,
          show(summary(runs.map((run) => run.heldOut))),
          mean(runs.map(({ updates }) => updates)).toFixed(0),
          String(runs.length),
        ],
      ]
    }),
  ),
)
