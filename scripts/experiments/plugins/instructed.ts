// Do hints and skills that a model writes itself work with one that follows instructions?
// `npm run -s experiment:instructed -- --model FILE.gguf [--tokens 8000 --seeds 3 --arms 'grpo;sage' --out FILE]`
//
// An adapter of a pretrained model learns a task with solved examples, as in experiment:real, until it has generated a given
// number of tokens, in which the texts of hint and skill writers count. Prints the share of requested texts that could be
// read, the share of groups with a signal, and held-out accuracy: plain, and with the library where the plugin acts in
// evaluation. Prompts come back, since some methods need that. Finished runs are kept. A library shows its texts after one
// round here, since a run has few.

import { parseArgs } from 'node:util'
import { ADAPTER_TARGETS } from '../../../daemon/engine/decoder.ts'
import type { PluginEvaluation } from '../../../daemon/host/contract.ts'
import { loadModel } from '../../../daemon/policy/model.ts'
import { scorePrompts } from '../../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import { withExamples } from '../../../plugins/tasks/examples.ts'
import { markdown, mean, percent, show, summary } from '../../lab/frame/statistics.ts'
import { type ArmRun, learnFor, playArms, requireHealth } from '../in-process/arms.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { createHookedNode } from './hooked-node.ts'
import type { ChosenPlugins } from './host.ts'

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    seeds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '8000' },
    /** Separated by semicolons. */
    arms: { type: 'string' },
    task: { type: 'string', default: 'number_sorting' },
    level: { type: 'string', default: '0' },
    examples: { type: 'string', default: '1' },
    length: { type: 'string', default: '20' },
    prompts: { type: 'string', default: '8' },
    /** Different prompts, which come back. */
    set: { type: 'string', default: '24' },
    'held-out': { type: 'string', default: '100' },
    'learning-rate': { type: 'string', default: '3e-4' },
    rank: { type: 'string', default: '16' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: 'docs/results/instructed.jsonl' },
  },
})
const GROUP = 8
/** A model of this size rambles at temperature 1. */
const HINTS = { tokens: 160, temperature: 0.5 }
const ARMS: Record<string, ChosenPlugins> = {
  grpo: {},
  scaf_grpo: { hints: [{ use: 'scaf_grpo', exemption: 0, parallel: true }] },
  sage: { hints: [{ use: 'sage', tries: 1, hintTokens: HINTS.tokens, hintTemperature: HINTS.temperature }] },
  hill: {
    hints: [{ use: 'hill', hints: 2, hinterTokens: HINTS.tokens, hinterTemperature: HINTS.temperature }],
  },
  cog_rethinker_like: { hints: [{ use: 'cog_rethinker_like' }] },
  r3: { replay: [{ use: 'r3' }] },
  sage_chain: { skills: [{ use: 'sage_chain' }] },
  arise: { skills: [{ use: 'arise', warmUp: 1, sigma: 0.1, conclusions: 2 }] },
  slea: { skills: [{ use: 'slea', warmUp: 1, smallest: 4, trajectories: 2 }] },
  training_free_grpo: {
    estimator: { use: 'none' },
    skills: [{ use: 'training_free_grpo', groups: 1, summaries: false }],
  },
}
const arms = flags.arms?.split(';') ?? Object.keys(ARMS)

interface Run extends ArmRun {
  rounds: number
  updates: number
  /** Generated, which may be some more than were given. */
  tokens: number
  /** Share of a round's prompts with a group that was trained on. */
  signal: number
  /** Texts asked for, and how many of them could be read. */
  written: number
  readable: number
  /** Prompts that a hint plugin took up, and how many of them it found a right answer to. */
  hinted: number
  solved: number
  /** Entries of the library in the end, and the share of groups that saw one. */
  entries: number
  shown: number
  sampled: number
  greedy: number
  /** Sampled, where the plugin acts in evaluation. */
  withLibrary?: number
}

if (flags.model === undefined) throw new Error('name a model: --model FILE.gguf')
const model = await loadModel(flags.model, { disk })
const tasks = TASKS.map((one) => withExamples(one, Number(flags.examples)))
const version = tasks.find(({ name }) => name === flags.task)?.version
if (version === undefined) throw new Error(`there is no task "${flags.task}"`)
const level = Number(flags.level)
const candidates = Array.from({ length: Number(flags.set) }, (_, seed) => ({
  ...{ task: flags.task, taskVersion: version, seed, difficulty: level },
}))
const book = createTaskBook(tasks, [{ name: flags.task, difficulty: level }])
const threads = Number(flags.threads)
const engine = createLocalEngine({ threads })
const maxNewTokens = Number(flags.length)

const all = await playArms<ChosenPlugins, Run>(
  {
    arms: ARMS,
    names: arms,
    seeds: Number(flags.seeds),
    settings: [
      ...[flags.task, level, flags.examples, maxNewTokens, flags.prompts, flags.set, flags.tokens],
      ...[flags['learning-rate'], flags.rank, flags['held-out']],
    ].join('/'),
    out: flags.out,
  },
  {
    play,
    tell: (run) =>
      process.stderr.write(
        `${run.arm}, seed ${run.seed}: ${percent(run.sampled)}, ${run.readable} of ${run.written} readable, ${run.seconds.toFixed(0)} s\n`,
      ),
  },
)
console.log(table(all))
await engine.close()

async function play(plugins: ChosenPlugins, seed: number, arm: string): Promise<Omit<Run, keyof ArmRun>> {
  const hinter = arm === 'hill' ? createLocalEngine({ threads }) : undefined
  const prompts = Number(flags.prompts)
  const node = await createHookedNode({
    ...{ seed, model, tasks, plugins, prompts, maxNewTokens },
    adapter: { rank: Number(flags.rank), alpha: 2 * Number(flags.rank), targets: [...ADAPTER_TARGETS] },
    learnsFrom: candidates,
    groupSize: GROUP,
    learningRate: Number(flags['learning-rate']),
    warmUpSteps: 3,
    engines: { policy: engine, roles: hinter ? { hinter } : {} },
  })
  const total = { written: 0, readable: 0, hinted: 0, solved: 0, entries: 0 }
  const rounds: { trained: number; shown: number }[] = []
  await learnFor(node, Number(flags.tokens), ({ groups, trained, metrics }) => {
    for (const [name, value] of Object.entries(metrics)) {
      const what = name.split('.')[1]
      if (what === 'written' || what === 'readable') total[what] = value
      if (what === 'prompts') total.hinted += value
      if (what === 'solved') total.solved += value
      if (what === 'skills' || what === 'entries' || what === 'experiences') total.entries = value
    }
    const shown = groups.filter(({ origin }) => (origin?.items?.length ?? 0) > 0).length / groups.length
    rounds.push({ trained: trained / prompts, shown })
  })
  const { sampled, greedy } = await accuracy()
  const acts = plugins.skills !== undefined && arm !== 'sage_chain'
  const evaluation = acts ? await node.host.evaluation({ step: node.updates }) : undefined
  const withLibrary = evaluation && (await accuracy(evaluation)).sampled
  requireHealth(node)
  await hinter?.close()
  return {
    rounds: rounds.length,
    updates: node.updates,
    tokens: node.tokens,
    signal: mean(rounds.map(({ trained }) => trained)),
    ...total,
    shown: mean(rounds.map(({ shown }) => shown)),
    ...{ sampled, greedy, ...(withLibrary !== undefined && { withLibrary }) },
  }
}

async function accuracy(evaluation?: PluginEvaluation): Promise<{ sampled: number; greedy: number }> {
  const [scores] = await scorePrompts(
    { promptsPerTask: Number(flags['held-out']), maxNewTokens },
    {
      ...{ sampler: engine, tokenizer: model.tokenizer, tasks: book },
      compose: evaluation?.compose.bind(evaluation),
    },
  )
  return { sampled: mean(scores!.sampled.map(mean)), greedy: mean(scores!.greedy) }
}

function table(runs: readonly Run[]): string {
  const head = ['arm', 'seeds', 'rounds', 'with a signal', 'readable', 'solved', 'entries', 'shown']
  return markdown(
    [...head, 'held-out: sampled', 'greedy', 'with library'],
    arms.flatMap((arm) => {
      const own = runs.filter((run) => run.arm === arm)
      if (own.length === 0) return []
      const of = (read: (run: Run) => number): number => mean(own.map(read))
      const share = (read: (run: Run) => number): string => show(summary(own.map(read)))
      const part = (some: number, whole: number): string =>
        whole === 0 ? '' : `${some.toFixed(0)} of ${whole.toFixed(0)}`
      return [
        [
          ...[
            arm,
            `${own.length}`,
            of(({ rounds }) => rounds).toFixed(0),
            percent(of(({ signal }) => signal)),
          ],
          part(
            of(({ readable }) => readable),
            of(({ written }) => written),
          ),
          part(
            of(({ solved }) => solved),
            of(({ hinted }) => hinted),
          ),
          ...[of(({ entries }) => entries).toFixed(0), percent(of(({ shown }) => shown))],
          ...[share(({ sampled }) => sampled), share(({ greedy }) => greedy)],
          own.every(({ withLibrary }) => withLibrary !== undefined) ? share((run) => run.withLibrary!) : '',
        ],
      ]
    }),
  )
}
