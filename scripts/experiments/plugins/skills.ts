// What do skill libraries add with a model of a million parameters?
// `npm run -s experiment:skills [-- --seeds 3 --tokens 40000 --arms none,arise --out FILE]`
//
// The model of three tasks has only seen its tasks and follows no instructions, so the text that it writes when asked
// for a skill is not one, and Training-Free GRPO's question about eight rollouts does not even fit into its 512
// tokens. So the script first measures the share of requested texts that can be parsed. Then it measures each arm's
// held-out accuracy at equal generated tokens, without plugins, and with the library if it may act. If a library
// fills, then by mechanical fall-backs, and this model has never seen text before a question: in a try at 40 000
// tokens its accuracy with a library was 0. So this shows what libraries cost a model that is too small for them; to
// look for a gain, use `--model` with one that follows instructions.

import { parseArgs } from 'node:util'
import type { PluginEvaluation } from '../../../daemon/host/contract.ts'
import { loadModel } from '../../../daemon/policy/model.ts'
import { scorePrompts } from '../../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import { type ArmRun, learnFor, playArms, requireHealth } from '../in-process/arms.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { folderOf } from '../in-process/start.ts'
import { markdown, mean, show, summary } from '../in-process/statistics.ts'
import { createHookedNode } from './hooked-node.ts'
import type { ChosenPlugins } from './host.ts'

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '40000' },
    arms: { type: 'string' },
    task: { type: 'string', default: 'fraction_simplification' },
    level: { type: 'string', default: '1' },
    prompts: { type: 'string', default: '48' },
    'held-out': { type: 'string', default: '96' },
    'learning-rate': { type: 'string', default: '3e-4' },
    model: { type: 'string' },
    threads: { type: 'string', default: '2' },
    out: { type: 'string', default: '.cache/experiments/skills.jsonl' },
  },
})
const PROMPTS = 8
const GROUP = 8
const MAX_NEW_TOKENS = 64
/**
 * A long warm-up would end after these few rounds; a softmax over near-equal scores opens at a low temperature only.
 */
const ARMS: Record<string, ChosenPlugins> = {
  none: {},
  sage_chain: { skills: [{ use: 'sage_chain' }] },
  arise: { skills: [{ use: 'arise', warmUp: 5, sigma: 0.1 }] },
  slea: { skills: [{ use: 'slea' }] },
  training_free_grpo: { estimator: { use: 'none' }, skills: [{ use: 'training_free_grpo' }] },
}
const arms = flags.arms?.split(',') ?? Object.keys(ARMS)
const task = TASKS.find(({ name }) => name === flags.task)
if (!task) throw new Error(`there is no task "${flags.task}"`)
const [level, tokens] = [Number(flags.level), Number(flags.tokens)]
const candidates = Array.from({ length: Number(flags.prompts) }, (_, seed) => ({
  task: task.name,
  taskVersion: task.version,
  seed,
  difficulty: level,
}))
const settings = [
  flags.model ?? '',
  flags.task,
  level,
  candidates.length,
  tokens,
  flags['learning-rate'],
].join('/')

interface Run extends ArmRun {
  rounds: number
  updates: number
  /** Texts that the policy was asked for, and how many could be read. */
  written: number
  readable: number
  /** Entries of the library in the end. */
  entries: number
  /** Share of groups that saw one. */
  shown: number
  plain: number
  /** Where the plugin acts in evaluation. */
  withLibrary?: number
}

const engine = createLocalEngine({ threads: Number(flags.threads) })
const path = flags.model ?? folderOf('three-tasks')
const model = await loadModel(path, { disk })
const book = createTaskBook(TASKS, [{ name: task.name, difficulty: level }])
await engine.open({ spec: model.spec, weights: model.weights })
const before = await accuracy()
console.log(`held-out before: ${(100 * before).toFixed(1)} %`)

const runs = await playArms<ChosenPlugins, Run>(
  { arms: ARMS, names: arms, seeds: Number(flags.seeds), settings, out: flags.out },
  {
    play,
    tell: ({ seed, arm, readable, written, seconds }) =>
      console.log(`seed ${seed} ${arm}: ${readable} of ${written} readable, ${seconds.toFixed(0)} s`),
  },
)
console.log(table(runs))
await engine.close()

async function play(plugins: ChosenPlugins, seed: number, arm: string): Promise<Omit<Run, keyof ArmRun>> {
  const node = await createHookedNode({
    seed,
    model,
    tasks: TASKS,
    learnsFrom: candidates,
    prompts: PROMPTS,
    groupSize: GROUP,
    maxNewTokens: MAX_NEW_TOKENS,
    learningRate: Number(flags['learning-rate']),
    plugins,
    engines: { policy: engine, roles: {} },
  })
  const last = { written: 0, readable: 0, entries: 0 }
  const shown: number[] = []
  await learnFor(node, tokens, ({ groups, metrics }) => {
    for (const [name, value] of Object.entries(metrics)) {
      const [, what] = name.split('.')
      if (what === 'written' || what === 'readable') last[what] = value
      if (what === 'skills' || what === 'entries' || what === 'experiences') last.entries = value
    }
    shown.push(groups.filter(({ origin }) => (origin?.items?.length ?? 0) > 0).length / groups.length)
  })
  const plain = await accuracy()
  const acts = plugins.skills !== undefined && arm !== 'sage_chain'
  const evaluation = acts ? await node.host.evaluation({ step: node.updates }) : undefined
  requireHealth(node)
  return {
    rounds: shown.length,
    updates: node.updates,
    ...last,
    shown: mean(shown),
    plain,
    ...(evaluation && { withLibrary: await accuracy(evaluation) }),
  }
}

/** Two answers a held-out prompt at temperature 1. */
async function accuracy(evaluation?: PluginEvaluation): Promise<number> {
  const compose = evaluation?.compose.bind(evaluation)
  const scores = await scorePrompts(
    { promptsPerTask: Number(flags['held-out']), maxNewTokens: MAX_NEW_TOKENS, samples: 2 },
    { sampler: engine, tokenizer: model.tokenizer, tasks: book, compose },
  )
  return mean(scores.flatMap(({ sampled }) => sampled.map(mean)))
}

function table(runs: readonly Run[]): string {
  const head = [
    'arm',
    'seeds',
    'rounds',
    'updates',
    'readable',
    'entries',
    'shown',
    'held-out',
    'with library',
    's',
  ]
  const rows = arms.flatMap((arm) => {
    const own = runs.filter((run) => run.arm === arm)
    if (own.length === 0) return []
    const points = (read: (run: Run) => number): string => show(summary(own.map((run) => 100 * read(run))), 1)
    const count = (read: (run: Run) => number): string => show(summary(own.map(read)), 0)
    const [written, readable] = [mean(own.map((run) => run.written)), mean(own.map((run) => run.readable))]
    return [
      [
        arm,
        `${own.length}`,
        count(({ rounds }) => rounds),
        count(({ updates }) => updates),
        written === 0 ? '' : `${readable.toFixed(0)} of ${written.toFixed(0)}`,
        count(({ entries }) => entries),
        points(({ shown }) => shown),
        points(({ plain }) => plain),
        own.every(({ withLibrary }) => withLibrary !== undefined) ? points((run) => run.withLibrary!) : '',
        count(({ seconds }) => seconds),
      ],
    ]
  })
  return markdown(head, [['before', '', '', '', '', '', '', (100 * before).toFixed(1), '', ''], ...rows])
}
