// Does a peer's right answer help where all own ones are wrong? `npm run -s experiment:transfer [-- --setting rare --seeds 1,2 --out FILE]`
//
// Two settings. `unlike`: a node with the model of three tasks is asked calendar_arithmetic, which that model never saw,
// beside fraction_simplification, which it knows. Its one peer has the default model, another tokenizer, and knows
// both. The peer learns alone; what it sent is kept and is the same in all arms of a seed. `rare`: nodes with the
// model of three tasks, all asked one set of prompts of basic_arithmetic level 2 that this model never got right in
// 16 tries. Every arm's nodes write as many rounds of own prompts. Arms:
//   start      before any training
//   alone      hears of nobody
//   prompts    asks again what peers solved, and learns nothing from their answers
//   swarm      trains on peers' groups into one batch with its own
//   transfer   `common` and `rescue`, and nothing else of peers
//   plain      as `transfer`, with the log-prob of a borrowed token as its loss instead of LUFFY's shape
//   lessons    learns right answers of the peer, which its user trusts, by supervision
//   liar       as `transfer`; the peer sends right answers with a mark in front (unlike only)
//   plain liar as `plain`, with that peer
// What would count, said before the first run. Unlike: held-out accuracy in the new task above every other arm's with
// every seed, and in the known task not more than 5 points below alone. Rare: at least twice the prompts solved
// (any of 8 answers) that alone solves. Liar: no answer with the mark. Where runs are too short for an accuracy to move,
// `fit` shows in which direction they go: the mean log-prob of a token of right answers to held-out questions of the
// first task, with the working and without. It is no goal. Runs are kept as they end.

import { parseArgs } from 'node:util'
import { randomStream } from '../../daemon/host/random.ts'
import type { Model } from '../../daemon/policy/model.ts'
import { heldOutPrompts } from '../../daemon/rollout/evaluation/held-out.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { HELD_OUT_SEED, type PromptCoordinates } from '../../protocol/train/index.ts'
import type { GroupDraft } from '../../protocol/wire/index.ts'
import { answerIn } from '../default-model/corpus.ts'
import { markdown, mean, percent } from '../lab/frame/statistics.ts'
import { playArms } from './in-process/arms.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createNode, type ExperimentNode, type NodeOptions } from './in-process/node.ts'
import { loadStart } from './in-process/start.ts'
import { thisMachine } from './machine.ts'
import { rightAnswers } from './plugins/answers.ts'

const { values: flags } = parseArgs({
  options: {
    setting: { type: 'string', default: 'unlike' },
    arms: { type: 'string' },
    seeds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '16' },
    own: { type: 'string', default: '6' },
    nodes: { type: 'string', default: '3' },
    set: { type: 'string', default: '64' },
    'learning-rate': { type: 'string', default: '5e-4' },
    'held-out': { type: 'string', default: '48' },
    out: { type: 'string', default: 'docs/results/transfer.jsonl' },
  },
})
const MARK = 'zq '
const MAX_NEW_TOKENS = 96
const [rounds, own, learningRate] = [Number(flags.rounds), Number(flags.own), Number(flags['learning-rate'])]

/** With a fixed set, nothing else is common. */
const COMMON = { use: 'common', common: 0, again: 0.5 }
const TRANSFER: NodeOptions['plugins'] = { replay: [{ use: 'rescue' }], selector: COMMON }
const PLAIN: NodeOptions['plugins'] = { ...TRANSFER, replay: [{ use: 'rescue', loss: 'plain' }] }
type Arm = Pick<NodeOptions, 'foreign' | 'plugins' | 'trusts'>
const ARMS: Record<string, Arm> = {
  start: { foreign: 0 },
  alone: { foreign: 0 },
  prompts: { foreign: 0, plugins: { selector: COMMON } },
  swarm: { foreign: own },
  transfer: { foreign: 0, plugins: TRANSFER },
  plain: { foreign: 0, plugins: PLAIN },
  lessons: { foreign: 0, plugins: { replay: [{ use: 'lessons' }] }, trusts: true },
  liar: { foreign: 0, plugins: TRANSFER },
  'plain liar': { foreign: 0, plugins: PLAIN },
}

interface Run {
  arm: string
  seed: number
  settings: string
  seconds: number
  /** Mean of the nodes, at the end. Of the set: accuracy, and share of prompts with a right answer among 8. */
  set: { sampled: number; solved: number }
  /** Held-out accuracy by task, and the share of answers with the mark in them. */
  heldOut: Record<string, number>
  marked: number
  /** Mean log-prob of a token of right answers; the first runs have none for bare ones. */
  fit: { worked: number; bare?: number | undefined }
  ownTokens: number
  updates: number
  /** Groups that borrowed an answer. */
  borrowed: number
  /** Of the plugin of that name, if it gave any. */
  lessons?: number
}

const [unlike, rare] = [flags.setting === 'unlike', flags.setting === 'rare']
if (!unlike && !rare) throw new Error(`there is no setting "${flags.setting}"; there are unlike and rare`)
const tasks = unlike
  ? [
      { name: 'calendar_arithmetic', difficulty: 0 },
      { name: 'fraction_simplification', difficulty: 1 },
    ]
  : [{ name: 'basic_arithmetic', difficulty: 2 }]
const pupil = (await loadStart('three-tasks')).model
const guide = (await loadStart('default')).model
const engines = Array.from({ length: unlike ? 2 : Number(flags.nodes) }, () =>
  createLocalEngine({ threads: 1 }),
)
const taskOf = (name: string) => TASKS.find((task) => task.name === name)!
const kept: Partial<Record<'guide' | 'liar', Map<number, GroupDraft[][]>>> = {}
const set = await promptsOf(Number(flags.set))
const settings = JSON.stringify([flags.setting, rounds, own, learningRate, set.length, engines.length])

const runs = await playArms<Arm, Run>(
  {
    arms: ARMS,
    names: flags.arms?.split(',') ?? Object.keys(ARMS).filter((arm) => unlike || !arm.endsWith('liar')),
    seeds: Number(flags.seeds),
    settings,
    out: flags.out,
  },
  { play, tell: (run) => console.error(JSON.stringify(run)) },
)
await Promise.all(engines.map((engine) => engine.close()))
console.log(thisMachine())
console.log(
  markdown(
    [
      'arm',
      'seed',
      'set: sampled',
      'solved',
      ...tasks.map(({ name }) => name),
      'mark',
      'fit',
      'tokens',
      'updates',
      'borrowed',
    ],
    runs.map((run) => [
      ...[run.arm, `${run.seed}`, percent(run.set.sampled), percent(run.set.solved)],
      ...tasks.map(({ name }) => percent(run.heldOut[name]!)),
      ...[
        percent(run.marked),
        `${run.fit.worked.toFixed(2)}, ${run.fit.bare?.toFixed(2) ?? '?'}`,
        `${run.ownTokens}`,
        run.updates.toFixed(0),
        run.borrowed.toFixed(0),
      ],
    ]),
  ),
)

async function play(
  arm: Arm,
  seed: number,
  name: string,
): Promise<Omit<Run, 'arm' | 'seed' | 'settings' | 'seconds'>> {
  const heard =
    unlike && name !== 'alone' && name !== 'start'
      ? await sentBy(name.endsWith('liar') ? 'liar' : 'guide', seed)
      : undefined
  const count = unlike || name === 'alone' || name === 'start' ? 1 : engines.length
  const nodes: ExperimentNode[] = []
  for (let i = 0; i < count; i++)
    nodes.push(await nodeOf(`node ${i}`, pupil, { seed: 100 * seed + i, place: i, ...arm }))
  let [updates, borrowed, lessons] = [0, 0, 0]
  for (let round = 0; round < (name === 'start' ? 0 : rounds); round++) {
    const reports = []
    for (const node of nodes) reports.push(await node.round())
    for (const { step } of reports) {
      updates += step ? 1 / count : 0
      borrowed += (step?.pluginMetrics['rescue.groups'] ?? 0) / count
      lessons += (step?.pluginMetrics['lessons.lessons'] ?? 0) / count
    }
    for (const node of nodes) {
      for (const draft of heard?.[round] ?? []) node.receive('peer', draft)
      for (const [i, { shared }] of reports.entries())
        if (nodes[i] !== node) for (const draft of shared) node.receive(nodes[i]!.name, draft)
    }
  }
  const ends: Awaited<ReturnType<typeof look>>[] = []
  for (let i = 0; i < count; i++) ends.push(await look(i))
  return {
    set: { sampled: mean(ends.map((end) => end.sampled)), solved: mean(ends.map((end) => end.solved)) },
    heldOut: Object.fromEntries(
      tasks.map(({ name: task }) => [task, mean(ends.map((end) => end.heldOut[task]!))]),
    ),
    marked: mean(ends.map((end) => end.marked)),
    fit: {
      worked: mean(ends.map((end) => end.fit.worked)),
      bare: mean(ends.map((end) => end.fit.bare)),
    },
    ownTokens: Math.round(mean(nodes.map(({ compute }) => compute.generated))),
    updates,
    borrowed,
    ...(lessons > 0 && { lessons }),
  }
}

function nodeOf(
  name: string,
  model: Model,
  { place, ...more }: Arm & { seed: number; place: number },
): Promise<ExperimentNode> {
  return createNode({
    ...{ name, model, tasks, candidates: set, own, learningRate, engine: engines[place]! },
    ...{ adaptive: false, maxNewTokens: MAX_NEW_TOKENS, ...more },
  })
}

/** Of the node at this place as it is now. */
async function look(place: number) {
  const ask = { engine: engines[place]!, model: pupil, maxNewTokens: MAX_NEW_TOKENS }
  const hard = taskOf(tasks[0]!.name)
  const right = await rightAnswers(
    set.filter(({ task }) => task === hard.name),
    { ...ask, task: hard, samples: 8, temperature: 1 },
  )
  const heldOut: Record<string, number> = {}
  for (const { name, difficulty } of tasks) {
    const task = taskOf(name)
    const prompts = await heldOutPrompts(task, difficulty, Number(flags['held-out']))
    heldOut[name] = mean(await rightAnswers(prompts, { ...ask, task, samples: 4, temperature: 1 })) / 4
  }
  const instances = (await heldOutPrompts(hard, tasks[0]!.difficulty, Number(flags['held-out']))).map(
    (prompt) => hard.generate(prompt),
  )
  const fitOf = async (style: 'worked' | 'bare'): Promise<number> => {
    const sequences = instances.map((instance) => ({
      conditioning: pupil.tokenizer.encodePrompt(instance.question),
      completion: pupil.tokenizer.encodeCompletion(answerIn(style, instance), 'stop'),
      columns: {},
    }))
    const scores = await ask.engine.score({ sequences, temperature: 1 })
    return mean(scores.flatMap(({ logprobs }) => [...logprobs]))
  }
  const fit = { worked: await fitOf('worked'), bare: await fitOf('bare') }
  const answers = await ask.engine.generate({
    samples: set.map(({ task, seed, difficulty }, i) => ({
      prompt: pupil.tokenizer.encodePrompt(taskOf(task).generate({ seed, difficulty }).question),
      seed: i,
    })),
    ...{ maxNewTokens: MAX_NEW_TOKENS, temperature: 1, stopTokens: pupil.tokenizer.stopTokens },
  })
  const marked = answers.filter(({ tokens }) =>
    pupil.tokenizer.decodeCompletion(tokens).includes(MARK.trim()),
  )
  return {
    sampled: mean(right) / 8,
    solved: mean(right.map((count) => (count > 0 ? 1 : 0))),
    heldOut,
    marked: marked.length / answers.length,
    fit,
  }
}

/** What the one peer sends, by round. A liar answers prompts of the set in turn, each right and with the mark. */
async function sentBy(who: 'guide' | 'liar', seed: number): Promise<GroupDraft[][]> {
  kept[who] ??= new Map()
  const known = kept[who].get(seed)
  if (known) return known
  const sent: GroupDraft[][] = []
  if (who === 'guide') {
    const node = await nodeOf('peer', guide, { seed: 100 * seed + 99, place: 1, foreign: 0 })
    for (let round = 0; round < rounds; round++) sent.push((await node.round()).shared)
  } else
    for (let round = 0; round < rounds; round++)
      sent.push(Array.from({ length: own }, (_, i) => lieAbout(set[(round * own + i) % set.length]!)))
  kept[who].set(seed, sent)
  return sent
}

function lieAbout(prompt: PromptCoordinates): GroupDraft {
  const right = answerIn('bare', taskOf(prompt.task).generate(prompt))
  return {
    prompt,
    arm: 'base',
    policy: { lineage: guide.digest, tokenizer: guide.tokenizer.digest, version: 0 },
    rollouts: [`${MARK}${right}`, 'no'].map((text) => {
      const tokens = guide.tokenizer.encodeCompletion(text, 'stop')
      return { text, tokens, finish: 'stop', segments: [{ version: 0, start: 0, length: tokens.length }] }
    }),
  }
}

/** The set: of the unlike setting, prompts of both tasks; of the rare one, those never right in 16 tries. */
async function promptsOf(count: number): Promise<PromptCoordinates[]> {
  if (unlike)
    return tasks.flatMap(({ name, difficulty }) =>
      Array.from({ length: count / 2 }, (_, i) => at(name, difficulty, drawn(`${name}/${i}`))),
    )
  const [{ name, difficulty }] = tasks as [(typeof tasks)[0]]
  const engine = engines[0]!
  await engine.open({ spec: pupil.spec, weights: pupil.weights })
  const found: PromptCoordinates[] = []
  for (let from = 0; found.length < count; from += 16) {
    const some = Array.from({ length: 16 }, (_, i) => at(name, difficulty, drawn(`${name}/${from + i}`)))
    const ask = { engine, model: pupil, task: taskOf(name), maxNewTokens: MAX_NEW_TOKENS }
    const right = await rightAnswers(some, { ...ask, samples: 16, temperature: 1 })
    found.push(...some.filter((_, i) => right[i] === 0))
  }
  return found.slice(0, count)
}

function at(task: string, difficulty: number, seed: number): PromptCoordinates {
  return { task, taskVersion: taskOf(task).version, seed, difficulty }
}

function drawn(stream: string): number {
  return Math.floor(randomStream(1, stream)() * HELD_OUT_SEED)
}
