// Is a swarm worth joining? Own sampled tokens to the same held-out accuracy, alone and with peers.
// `npm run -s lab:sharing [-- --setting dense --nodes 8 --arms alone,bound,common-batch --rates 1e-4 --seeds 1,2,3]`
//
// Nodes in one process, each with the model of three tasks, with one that seldom puts an answer between tags (`--setting
// sparse`), or with an adapter on a pretrained one (`--setting real --model FILE.gguf`). In every round each answers
// `--own` prompts, 8 answers each, and makes one optimizer step. Arms:
//   alone         one node that hears of nobody, for four times as many rounds
//   bound         one node that answers as many prompts as the whole swarm: what honest twins can bring at most
//   prompts       nodes that answer their peers' prompts themselves: those whose groups had a signal a round ago. They
//                 never see an answer of the peers, which are alone. Is it the choice of prompts that brings the gain?
//   common-batch  the swarm; every node may train on all groups of its peers
//   …+trust       the same where every user vouches for all peers, so that nothing is held back
//   …+LIARS@75    the swarm with three quarters of its nodes lying (half without a figure). Figures are of the honest
//                 ones, and `marked` is the share of held-out answers with the liars' mark. LIARS: `liars` for all the ways of
//                 liars.ts by turns, or one of these; `fresh` for marked answers under a new name in every
//                 round; `adaptive` for adaptive-liar.ts
// Held-out accuracy (sampled, at temperature 1) is looked at every `--every` rounds on two nodes, and smoothed over three
// looks. `--target` is the accuracy that arms are compared at. An arm's learning rate is chosen on seeds above 100
// (`--seeds 101,102 --rates ...`), and its results are those of seeds below: pass the chosen ones as `--rates`, one for
// all arms or one an arm as in `alone=5e-5,bound=1e-4`. Runs are kept as they end; a call with the same file makes those
// missing.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ADAPTER_TARGETS } from '../../../daemon/engine/decoder.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { loadModel, type Model } from '../../../daemon/policy/model.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { withExamples } from '../../../plugins/tasks/examples.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { HELD_OUT_SEED, type PromptCoordinates } from '../../../protocol/train/index.ts'
import { answerIn } from '../../default-model/corpus.ts'
import { thisMachine } from '../frame/machine.ts'
import { openRecords } from '../frame/records.ts'
import { markdown, mean, percent, show, summary } from '../frame/statistics.ts'
import { createAdaptiveLiar } from '../nodes/adaptive-liar.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { keepModel } from '../nodes/keep-model.ts'
import { createLiar, LIES, type Liar, type Lie, MARK } from '../nodes/liars.ts'
import { createNode, type ExperimentNode, type NodeOptions } from '../nodes/node.ts'
import { folderOf, loadStart } from '../nodes/start.ts'
import { supervise } from '../nodes/supervise.ts'
import { runRounds } from '../nodes/swarm.ts'
import { accuracyAt, type Look, smoothed, tokensTo } from './by-tokens.ts'

const { values: flags } = parseArgs({
  options: {
    setting: { type: 'string', default: 'dense' },
    /** A pretrained model as a GGUF file, for the setting `real`. */
    model: { type: 'string' },
    arms: { type: 'string', default: 'alone,bound,common-batch' },
    rates: { type: 'string', default: '1e-4' },
    seeds: { type: 'string', default: '1,2,3,4,5' },
    nodes: { type: 'string', default: '8' },
    own: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '60' },
    every: { type: 'string', default: '5' },
    target: { type: 'string' },
    prompts: { type: 'string', default: '200' },
    models: { type: 'string', default: '.cache/experiments/models' },
    out: { type: 'string', default: 'docs/results/sharing.jsonl' },
    /** Only prints the table of the runs in the file. */
    show: { type: 'boolean', default: false },
  },
})

interface Setting {
  /** At their difficulty. */
  tasks: Readonly<Record<string, number>>
  /** Share of answers between tags in what the model is supervised on first. */
  tagged?: number
  /** An adapter learns on a pretrained model. */
  pretrained?: Pick<NodeOptions, 'adapter' | 'maxNewTokens' | 'warmUpSteps'> & { examples: number }
}
const DENSE = { basic_arithmetic: 1, base_conversion: 0, fraction_simplification: 1 }
const SETTINGS: Readonly<Record<string, Setting>> = {
  dense: { tasks: DENSE },
  /** As `dense`, with a model whose answers seldom have the form that verifiers accept. */
  sparse: { tasks: DENSE, tagged: 0.05 },
  /** Sparse as well, but the model learns little whatever it is given. */
  hard: { tasks: { basic_arithmetic: 2 } },
  /** As in lab:real. */
  real: {
    tasks: { number_sorting: 0 },
    pretrained: {
      adapter: { rank: 16, alpha: 32, targets: [...ADAPTER_TARGETS] },
      ...{ maxNewTokens: 20, warmUpSteps: 3, examples: 1 },
    },
  },
}

interface Run {
  setting: string
  arm: string
  rate: number
  seed: number
  nodes: number
  own: number
  rounds: number
  questions: number
  looks: Look[]
  /** Mean reward of a node's own rollouts, by round. */
  rewards: number[]
  /** Share of own groups with a signal. */
  signal: number
  /** Marked answers that adaptive liars could send. */
  planted?: number
  /** Of a node: tokens sampled, and tokens trained on. */
  sampledTokens: number
  trainedTokens: number
  seconds: number
}

const setting = SETTINGS[flags.setting]
if (!setting) throw new Error(`no setting "${flags.setting}"; there are ${Object.keys(SETTINGS).join(', ')}`)
const tasks = Object.entries(setting.tasks).map(([name, difficulty]) => ({ name, difficulty }))
const { examples = 0, ...pretrained } = setting.pretrained ?? {}
const known = TASKS.map((task) => withExamples(task, examples))
const [nodes, own, rounds] = [Number(flags.nodes), Number(flags.own), Number(flags.rounds)]
const arms = flags.arms.split(',')
const ratesOf = (arm: string): number[] =>
  flags.rates.split(',').flatMap((rate) => {
    const [name, value] = rate.includes('=') ? rate.split('=') : [arm, rate]
    return name === arm ? [Number(value)] : []
  })

const model = await loadOne()
const records = await openRecords<Run>(flags.out)
const engines: Engine[] = []
const engineOf = (i: number): Engine => {
  engines[i] ??= createLocalEngine({ threads: 1 })
  return engines[i]
}

async function loadOne(): Promise<Model> {
  if (setting?.tagged !== undefined) return await seldomTagged(setting.tagged)
  if (!setting?.pretrained) return (await loadStart('three-tasks')).model
  if (flags.model === undefined) throw new Error('name a model: --model FILE.gguf')
  return await loadModel(flags.model, { disk })
}

/** The model of three tasks after supervised steps with few answers between tags. Made once and kept on disk. */
async function seldomTagged(share: number): Promise<Model> {
  const folder = join(flags.models, `tagged-${share}`)
  if (!existsSync(join(folder, 'model.safetensors'))) {
    const { model } = await loadStart('three-tasks')
    const [engine, random] = [createLocalEngine({ threads: 1 }), randomStream(1, 'seldom-tagged')]
    const example = () => {
      const { name, difficulty } = tasks[Math.floor(random() * tasks.length)]!
      const seed = Math.floor(random() * HELD_OUT_SEED)
      const task = TASKS.find((one) => one.name === name)!
      const instance = task.generate({ seed, difficulty, warmStart: true })
      const style = random() < share ? 'worked' : 'untagged'
      return { question: instance.question, completion: answerIn(style, instance) }
    }
    await supervise({ steps: 100, batch: 32, learningRate: 5e-4, example }, { engine, model })
    await keepModel(folder, folderOf('three-tasks'), { engine, model })
    await engine.close()
  }
  return await loadModel(folder, { disk })
}

/** Holds the base model, which liars score their texts with. */
let liarEngine: Engine | undefined
async function openLiarEngine(): Promise<Engine> {
  const engine = createLocalEngine({ threads: 1 })
  await engine.open({ spec: model.spec, weights: model.weights })
  return engine
}

interface Arm {
  nodes: number
  own: number
  foreign: number
  rounds: number
  /** Nodes alone whose prompts the others answer. */
  scouts?: number
  trusts?: boolean
  liars?: number
  lies?: readonly (Lie | 'fresh' | 'adaptive')[]
}
function armOf(name: string): Arm {
  if (name === 'alone') return { nodes: 1, own, foreign: 0, rounds: 4 * rounds }
  if (name === 'bound') return { nodes: 1, own: nodes * own, foreign: 0, rounds }
  if (name === 'prompts') return { nodes: 2, own, foreign: 0, rounds, scouts: nodes - 1 }
  const [base, among] = name.split('+')
  const [kind = '', percent = '50'] = among === undefined || among === 'trust' ? [] : among.split('@')
  const lies = kind === '' ? [] : kind === 'liars' ? LIES : [kind as Lie]
  const isKnown = lies.every((lie) => [...LIES, 'fresh', 'adaptive'].includes(lie))
  if (base !== 'common-batch' || !isKnown)
    throw new Error(
      `no arm "${name}"; there are alone, bound, prompts and common-batch, which may be followed by +trust or by +liars, +${LIES.join(', +')}, +fresh or +adaptive and their share, as in +liars@75`,
    )
  const liars = lies.length > 0 ? Math.min(nodes - 1, Math.round((nodes * Number(percent)) / 100)) : 0
  return {
    ...{ nodes: nodes - liars, own, foreign: (nodes - 1) * own, rounds, liars, lies },
    trusts: among === 'trust',
  }
}

const isSame = (run: Run): boolean =>
  run.setting === flags.setting && run.nodes === nodes && run.own === own && run.rounds === rounds
/** A node alone is the same whatever the swarm that it is compared with. */
const isComparable = (run: Run): boolean =>
  isSame(run) ||
  (run.arm === 'alone' && run.setting === flags.setting && run.own === own && run.rounds >= rounds)

for (const seed of flags.show ? [] : flags.seeds.split(',').map(Number))
  for (const name of arms)
    for (const rate of ratesOf(name)) {
      if (
        records.done.some(
          (run) => isComparable(run) && run.arm === name && run.rate === rate && run.seed === seed,
        )
      )
        continue
      await records.add(await play(name, rate, seed))
    }
for (const engine of [...engines, ...(liarEngine ? [liarEngine] : [])]) await engine.close()
console.log(`${thisMachine()}; ${flags.setting}, ${nodes} nodes with ${own} prompts each, ${rounds} rounds`)
console.log(table(records.done.filter(isComparable)))

async function play(name: string, rate: number, seed: number): Promise<Run> {
  const started = performance.now()
  const arm = armOf(name)
  /** What scouts' last groups with a signal asked. */
  const candidates: PromptCoordinates[] = []
  const create = (i: number, isScout: boolean): Promise<ExperimentNode> =>
    createNode({
      name: `node ${i}`,
      seed: 1000 * seed + i,
      ...{ model, tasks, known, ...pretrained },
      own: arm.own,
      foreign: arm.foreign,
      adaptive: false,
      learningRate: rate,
      engine: engineOf(i),
      ...(arm.scouts && !isScout && { candidates }),
      trusts: arm.trusts ?? false,
    })
  const swarm: ExperimentNode[] = []
  for (let i = 0; i < arm.nodes; i++) swarm.push(await create(i, false))
  const scouts: ExperimentNode[] = []
  for (let i = 0; i < (arm.scouts ?? 0); i++) scouts.push(await create(arm.nodes + i, true))
  const outsiders: (Liar & { readonly planted?: number })[] = []
  for (let i = 0; i < (arm.liars ?? 0); i++) {
    const lie = arm.lies![i % arm.lies!.length]!
    const book = createTaskBook(known, tasks)
    const common = { name: `liar ${i}`, seed: 2000 * seed + i, model, groups: own, groupSize: 8 }
    if (lie === 'adaptive') {
      const victim = engineOf(i % arm.nodes)
      outsiders.push(createAdaptiveLiar({ ...common, tasks: book, victim }))
      continue
    }
    liarEngine ??= await openLiarEngine()
    const how = lie === 'fresh' ? ({ lie: 'poison', isFresh: true } as const) : { lie }
    outsiders.push(createLiar({ ...common, ...how, tasks: book.chosen, engine: liarEngine }))
  }
  const looks: Look[] = []
  const rewards: number[] = []
  let [questions, groups] = [0, 0]
  const look = async (round: number): Promise<void> => {
    const seen = []
    const mark = arm.liars ? MARK : undefined
    for (const node of swarm.slice(0, 2)) seen.push(await node.evaluate(Number(flags.prompts), mark))
    questions = seen[0]!.questions
    looks.push({
      round,
      tokens: mean(swarm.map(({ compute }) => compute.generated)),
      sampled: mean(seen.map(({ sampled }) => sampled)),
      greedy: mean(seen.map(({ greedy }) => greedy)),
      ...(mark !== undefined && { marked: mean(seen.map(({ marked }) => marked)) }),
    })
  }
  await look(0)
  await runRounds(
    { rounds: arm.rounds },
    {
      nodes: swarm,
      outsiders,
      async onRound({ round, reports }) {
        const asked = []
        for (const scout of scouts) asked.push(...(await scout.round()).taught)
        if (asked.length > 0) candidates.splice(0, candidates.length, ...asked)
        rewards.push(mean(reports.map(({ reward }) => reward)))
        groups += mean(reports.map(({ taught }) => taught.length)) / arm.own
        const every = Number(flags.every) * (arm.rounds / rounds)
        if ((round + 1) % every === 0) await look(round + 1)
      },
    },
  )
  const seconds = (performance.now() - started) / 1000
  const last = mean(looks.slice(-3).map(({ sampled }) => sampled))
  process.stderr.write(
    `${name} ${rate} seed ${seed}: ${looks[0]!.sampled.toFixed(3)} -> ${last.toFixed(3)}, signal ${(groups / arm.rounds).toFixed(2)}, ${seconds.toFixed(0)} s\n`,
  )
  return {
    setting: flags.setting,
    arm: name,
    rate,
    seed,
    nodes,
    own,
    rounds,
    questions,
    looks,
    rewards,
    signal: groups / arm.rounds,
    ...(arm.lies?.includes('adaptive') && {
      planted: sum(outsiders.map(({ planted = 0 }) => planted)),
    }),
    sampledTokens: mean(swarm.map(({ compute }) => compute.generated)),
    trainedTokens: mean(swarm.map(({ compute }) => compute.trained)),
    seconds,
  }
}

function table(runs: readonly Run[]): string {
  const target = flags.target === undefined ? undefined : Number(flags.target)
  // Where the arms that sample least end.
  const least = Math.min(...runs.map((run) => smoothed(run).at(-1)!.tokens))
  const aloneOf = ({ seed }: Run) => runs.find((other) => other.arm === 'alone' && other.seed === seed)
  const keys = [...new Set(runs.map(({ arm, rate }) => `${arm} ${rate}`))].sort()
  return markdown(
    [
      'arm',
      'rate',
      'seeds',
      'held-out at start',
      'at the end',
      'greedy',
      'reward, sum',
      'own tokens (k)',
      'held-out at equal own tokens',
      'more than alone (points)',
      'reward, % of alone',
      'marked answers',
      ...(target === undefined ? [] : [`own tokens (k) to ${target}`, 'times fewer than alone']),
    ],
    keys.flatMap((key) => {
      const [arm, rate] = key.split(' ')
      const all = runs.filter((run) => `${run.arm} ${run.rate}` === key)
      return [all.filter(({ seed }) => seed > 100), all.filter(({ seed }) => seed <= 100)].flatMap((some) => {
        if (some.length === 0) return []
        const end = (run: Run) => mean(run.looks.slice(-3).map(({ sampled }) => sampled))
        const reached = target === undefined ? [] : some.map((run) => tokensTo(target, run))
        const ratios = some.flatMap((run) => {
          const alone = aloneOf(run)
          const [a, b] =
            target === undefined || !alone ? [] : [tokensTo(target, alone), tokensTo(target, run)]
          return a === undefined || b === undefined ? [] : [a / b]
        })
        const gains = some.flatMap((run) => {
          const alone = aloneOf(run)
          return alone && arm !== 'alone' ? [accuracyAt(least, run) - accuracyAt(least, alone)] : []
        })
        const rewards = some.flatMap((run) => {
          const alone = aloneOf(run)
          return alone && arm !== 'alone'
            ? [(100 * sum(run.rewards)) / sum(alone.rewards.slice(0, run.rewards.length))]
            : []
        })
        const marks = some.flatMap(({ looks }) => looks.at(-1)!.marked ?? [])
        return [
          [
            arm!,
            rate!,
            some.map(({ seed }) => seed).join(' '),
            show(summary(some.map(({ looks }) => looks[0]!.sampled))),
            show(summary(some.map(end))),
            show(summary(some.map(({ looks }) => mean(looks.slice(-3).map(({ greedy }) => greedy))))),
            show(summary(some.map((run) => sum(run.rewards))), 1),
            show(summary(some.map((run) => smoothed(run).at(-1)!.tokens / 1000)), 0),
            show(summary(some.map((run) => accuracyAt(least, run)))),
            gains.length > 0 ? show(summary(gains.map((gain) => 100 * gain)), 1) : '',
            rewards.length > 0 ? show(summary(rewards), 0) : '',
            marks.length > 0 ? percent(mean(marks)) : '',
            ...(target === undefined
              ? []
              : [
                  reached.every((tokens) => tokens !== undefined)
                    ? show(summary(reached.map((tokens) => tokens! / 1000)), 0)
                    : `${reached.filter((tokens) => tokens !== undefined).length} of ${reached.length} reached it`,
                  ratios.length > 0 ? show(summary(ratios), 2) : '',
                ]),
          ],
        ]
      })
    }),
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
