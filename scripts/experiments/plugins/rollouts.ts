// Do methods that decide what is written, beyond whole answers to a prompt, teach more than GRPO from the same tokens?
// `npm run -s experiment:rollouts [-- --seeds 5 --tokens 40000 --arms 'grpo;spo_chain' --task T --length 64 --out FILE]`
//
// The model of three tasks learns basic_arithmetic at level 1 with new prompts, as in experiment:estimators, until it has
// generated a given number of tokens; continuations, branches and what is cut off count. Every arm writes about as much
// for an update as GRPO does with 32 answers. Prints held-out accuracy, and each arm's gain on GRPO seed by seed. Finished
// runs are kept.

import { parseArgs } from 'node:util'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { markdown, mean, percent, show, summary } from '../../lab/frame/statistics.ts'
import { type ArmRun, learnFor, playArms } from '../in-process/arms.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { loadStart } from '../in-process/start.ts'
import { accuracy } from './answers.ts'
import { createHookedNode } from './hooked-node.ts'
import type { ChosenPlugins } from './host.ts'

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '40000' },
    /** Separated by semicolons. */
    arms: { type: 'string' },
    task: { type: 'string', default: 'basic_arithmetic' },
    level: { type: 'string', default: '1' },
    /** Most tokens of an answer. */
    length: { type: 'string', default: '64' },
    'held-out': { type: 'string', default: '300' },
    'learning-rate': { type: 'string', default: '1e-4' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: '.cache/experiments/rollouts.jsonl' },
  },
})
const maxNewTokens = Number(flags.length)

interface Arm {
  prompts: number
  groupSize: number
  plugins?: ChosenPlugins
}
const steered = (
  prompts: number,
  groupSize: number,
  use: string,
  settings: Record<string, unknown> = {},
): Arm => ({ prompts, groupSize, plugins: { controls: [{ use, ...settings }] } })
/**
 * Answers to basic_arithmetic have about 14 tokens, 3 of them unsure: segments and trees are smaller than published. The
 * arms with a length are for answers of 60 tokens, 4 of them unsure.
 */
const ARMS: Record<string, Arm> = {
  grpo: { prompts: 4, groupSize: 8 },
  spo_chain: steered(5, 1, 'spo_chain', { interval: 2, samples: 4, whiten: false }),
  'spo_chain, whitened': steered(5, 1, 'spo_chain', { interval: 2, samples: 4, whiten: true }),
  tree_rl_like: steered(5, 4, 'tree_rl_like', { forks: 1, branches: 1 }),
  arrol_like: steered(2, 16, 'arrol_like', { after: 6 }),
  'arrol_like, after 20': steered(2, 16, 'arrol_like', { after: 20 }),
  scope_like: steered(4, 8, 'scope_like'),
  // For models that follow instructions, which this one does not.
  cog_rethinker_like: {
    prompts: 2,
    groupSize: 6,
    plugins: { hints: [{ use: 'cog_rethinker_like' }] },
  },
  'spo_chain, as published': steered(3, 1, 'spo_chain'),
  'tree_rl_like, as published': steered(1, 6, 'tree_rl_like'),
}
const arms = flags.arms?.split(';') ?? ['grpo', 'spo_chain', 'tree_rl_like', 'arrol_like']
const named = TASKS.find(({ name }) => name === flags.task)
if (!named) throw new Error(`there is no task "${flags.task}"`)
const task = named
const level = Number(flags.level)
const heldOut = await heldOutPrompts(task, level, Number(flags['held-out']))

interface Run extends ArmRun {
  updates: number
  rounds: number
  /** Generated, which may be some more than were given. */
  tokens: number
  heldOut: number
}

const engine = createLocalEngine({ threads: Number(flags.threads) })
const { model } = await loadStart('three-tasks')
const look = (): Promise<number> => accuracy(heldOut, { engine, model, task, maxNewTokens })

await engine.open({ spec: model.spec, weights: model.weights })
const before = await look()
const all = await playArms<Arm, Run>(
  {
    arms: ARMS,
    names: arms,
    seeds: Number(flags.seeds),
    settings: [flags.task, flags.tokens, level, flags.length, flags['learning-rate'], flags['held-out']].join(
      '/',
    ),
    out: flags.out,
  },
  {
    play,
    tell: (run) =>
      process.stderr.write(
        `${run.arm}, seed ${run.seed}: ${percent(run.heldOut)}, ${run.updates} updates, ${run.seconds.toFixed(0)} s\n`,
      ),
  },
)
await engine.close()

async function play(
  { prompts, groupSize, plugins = {} }: Arm,
  seed: number,
): Promise<Omit<Run, keyof ArmRun>> {
  const node = await createHookedNode({
    ...{ seed, model, tasks: TASKS, plugins, prompts, groupSize },
    learnsFrom: { name: task.name, difficulty: level },
    maxNewTokens,
    learningRate: Number(flags['learning-rate']),
    engines: { policy: engine, roles: {} },
  })
  let rounds = 0
  await learnFor(node, Number(flags.tokens), () => {
    rounds += 1
  })
  return { updates: node.updates, rounds, tokens: node.tokens, heldOut: await look() }
}

const baseline = new Map(all.filter(({ arm }) => arm === 'grpo').map((run) => [run.seed, run.heldOut]))
console.log(`${flags.tokens} tokens a run, ${heldOut.length} held-out questions; before: ${percent(before)}`)
console.log(
  markdown(
    ['arm', 'held-out', 'more than GRPO', 'updates', 'tokens a round', 'runs'],
    arms.flatMap((arm) => {
      const runs = all.filter((run) => run.arm === arm)
      if (runs.length === 0) return []
      const gains = runs.flatMap(({ seed, heldOut }) => {
        const theirs = baseline.get(seed)
        return theirs === undefined ? [] : [heldOut - theirs]
      })
      return [
        [
          arm,
          show(summary(runs.map((run) => run.heldOut))),
          arm === 'grpo' || gains.length === 0 ? '' : show(summary(gains)),
          mean(runs.map(({ updates }) => updates)).toFixed(0),
          mean(runs.map(({ tokens, rounds }) => tokens / rounds)).toFixed(0),
          String(runs.length),
        ],
      ]
    }),
  ),
)
