// What does a teacher save? A specialist in one task teaches a fresh node that trains on three.
// `npm run -s lab:teachers [-- --arms 'alone,taught,taught top16' --rates 'alone=1e-4,taught=2e-4' --seeds 1,2,3]`
//
// The specialist is the model of three tasks after supervised steps on one of them; it is made once, and its own cost is
// not counted. The node answers eight prompts a round, groups of eight, and makes four steps. Its teacher scores its answers
// and, for the gate, answers some of its prompts: both count, in tokens and in processor seconds.
//   alone      no teacher
//   taught     the specialist, as the plugin `teachers` has it by default
//   chunks     the same, as if its tokens were others: only what was sampled is compared
//   other      the default model, whose tokens are others; with `--tasks binary_matrix` it knows what the node does not
//   topN, weightN: its setting `top`, `coefficient` (in %)

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { trainable } from '../../../daemon/engine/stored/stored.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { openTeacherModel } from '../../../daemon/node/policy/teacher-models.ts'
import type { OtherModel } from '../../../daemon/policy/live-policy.ts'
import { loadModel, type Model } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { answerIn } from '../../default-model/corpus.ts'
import { runExperiment } from '../frame/experiment.ts'
import { costTo, ratioOf, showRatio, showReached } from '../frame/reach.ts'
import { markdown, mean, show, summary } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { keepModel } from '../nodes/keep-model.ts'
import { createNode, DEFAULT_CORRECTIONS } from '../nodes/node.ts'
import { folderOf, loadStart } from '../nodes/start.ts'
import { supervise } from '../nodes/supervise.ts'

type Kind = 'alone' | 'taught' | 'chunks' | 'other'

interface Arm {
  kind: Kind
  /** Of the plugin; undefined without a teacher. */
  settings: Record<string, unknown> | undefined
}

/** One round of eight prompts. */
export interface TaughtRound {
  /** So far: own answers' tokens, those of the teacher's answers that the gate asked for, and processor seconds. */
  sampledTokens: number
  trialTokens: number
  processorSeconds: number
  /** Share of right answers, to questions that this node never saw before. */
  reward: number
  /** Of the teacher. */
  weight: number
  /** Own less the teacher's log-prob of what was sampled, in nats a token, where chunks are compared. */
  gap?: number | undefined
}

interface Taught {
  rounds: TaughtRound[]
  /** Held-out accuracy at temperature 1 at the end: in the taught task, and as a mean over the others. */
  taught: number
  others: number
}

const TAUGHT = 'base_conversion'
const TASKS_OF = [
  { name: 'basic_arithmetic', difficulty: 1 },
  { name: TAUGHT, difficulty: 0 },
  { name: 'fraction_simplification', difficulty: 1 },
  { name: 'binary_matrix', difficulty: 0 },
]
const { model } = await loadStart('three-tasks')
const engine = createLocalEngine({ threads: 1 })

/** The model of three tasks after supervised steps on the taught one. Made once and kept on disk. */
async function specialist(steps: number): Promise<Model> {
  const folder = join('.cache/experiments/models', `specialist-${TAUGHT}-${steps}`)
  if (!existsSync(join(folder, 'model.safetensors'))) {
    const random = randomStream(1, 'specialist')
    const task = TASKS.find(({ name }) => name === TAUGHT)!
    const example = () => {
      const seed = Math.floor(random() * HELD_OUT_SEED)
      const instance = task.generate({ seed, difficulty: 0, warmStart: true })
      return { question: instance.question, completion: answerIn('worked', instance) }
    }
    await supervise({ steps, batch: 32, learningRate: 5e-4, example }, { engine, model })
    await keepModel(folder, folderOf('three-tasks'), { engine, model })
  }
  return loadModel(folder, { disk })
}

/** A model in an engine of its own, that compares by chunks. */
async function otherModel(kind: 'chunks' | 'other', steps: number): Promise<OtherModel> {
  const made = kind === 'other' ? (await loadStart('default')).model : await specialist(steps)
  const opened = await openTeacherModel(
    { model: made, stop: [] },
    { engine: createLocalEngine({ threads: 1 }), policy: model },
  )
  return { ...opened, own: { ...opened.own!, shared: undefined } }
}

await runExperiment<Arm, Taught>({
  question: 'How much of its own work does a node save if a specialist teaches it one of its tasks?',
  defaults: { arms: 'alone,taught', rates: '1e-4', seeds: '1,2,3,4,5', out: 'docs/results/teachers.jsonl' },
  flags: {
    tokens: { type: 'string', default: '60000' },
    prompts: { type: 'string', default: '400' },
    steps: { type: 'string', default: '200' },
    tasks: { type: 'string', default: TAUGHT },
    targets: { type: 'string', default: '0.2,0.25,0.3' },
  },
  settings: ({ tokens, prompts, steps, tasks }) => ({
    ...{ tokens: Number(tokens), prompts: Number(prompts), steps: Number(steps), tasks },
  }),

  // What a target costs does not depend on where a run ends.
  isComparable: ({ settings }, { prompts, steps, tasks, show: isShown, tokens }) =>
    settings.prompts === Number(prompts) &&
    settings.steps === Number(steps) &&
    settings.tasks === tasks &&
    (isShown === true || settings.tokens === Number(tokens)),

  arm(name) {
    const [first, ...words] = name.split(' ')
    const kind = (['alone', 'taught', 'chunks', 'other'] as const).find((one) => one === first)
    if (!kind) throw new Error(`no arm "${name}"; there are alone, taught, chunks and other`)
    if (kind === 'alone') return { kind, settings: undefined }
    const settings: Record<string, unknown> = {}
    for (const word of words) {
      const [, setting, value] = word.match(/^(top|weight)(\d+)$/) ?? []
      if (setting === undefined) throw new Error(`no condition "${word}"`)
      if (setting === 'top') settings.top = Number(value)
      else settings.coefficient = Number(value) / 100
    }
    return { kind, settings }
  },

  async play({ kind, settings }, { rate, seed, values, meter }) {
    const steps = Number(values.steps)
    const isOther = kind === 'chunks' || kind === 'other'
    const from = isOther ? kind : 'checkpoint/specialist'
    const chosen = TASKS_OF.filter(({ name }) => String(values.tasks).split(',').includes(name))
    const task = chosen.find(({ name }) => name === TAUGHT) ?? chosen[0]!
    const node = await createNode({
      ...{ name: 'student', seed: 1000 * seed, model, tasks: chosen, engine },
      ...{ own: 8, minibatches: 4, foreign: 0, adaptive: false, learningRate: rate },
      ...(kind === 'taught' && { teachers: { specialist: trainable((await specialist(steps)).weights) } }),
      ...(isOther && { models: new Map([[kind, await otherModel(kind, steps)]]) }),
      corrections: [
        ...DEFAULT_CORRECTIONS,
        ...(settings ? [{ use: 'teachers', from: [from], ...settings }] : []),
      ],
    })
    const rounds: TaughtRound[] = []
    while (node.compute.generated < Number(values.tokens)) {
      const { step, reward } = await meter.part('rounds', () => node.round())
      rounds.push({
        sampledTokens: node.compute.generated,
        trialTokens: (rounds.at(-1)?.trialTokens ?? 0) + (step?.pluginMetrics['teachers.trial_tokens'] ?? 0),
        processorSeconds: meter.seconds.rounds ?? 0,
        reward,
        weight: step?.pluginMetrics[`teachers.${task.name}.weight`] ?? 0,
        gap: step?.pluginMetrics['teachers.gap'],
      })
    }
    const accuracyIn = async (tasks: typeof TASKS_OF): Promise<number> =>
      tasks.length === 0 ? 0 : (await node.evaluate(Number(values.prompts), { tasks })).sampled
    return meter.part('look', async () => ({
      rounds,
      taught: await accuracyIn([task]),
      others: await accuracyIn(chosen.filter((one) => one !== task)),
    }))
  },

  table(all, values) {
    const targets = String(values.targets).split(',').map(Number)
    const isSame = (a: (typeof all)[number], b: (typeof all)[number]): boolean =>
      a.arm === b.arm && a.rate === b.rate && a.seed === b.seed
    // Of several, the longest run.
    const runs = all
      .filter((run) => all.every((other) => !isSame(run, other) || other.rounds.length <= run.rounds.length))
      .sort((a, b) => a.seed - b.seed)
    const costOf = ({ rounds }: Taught, target: number, unit: (round: TaughtRound) => number) =>
      costTo(
        target,
        rounds.map((round) => ({ cost: unit(round), accuracy: round.reward })),
      )
    const ratios = (at: number, unit: (round: TaughtRound) => number, target: number): string =>
      showRatio(
        ratioOf(
          runs.flatMap((run) => {
            const control = runs.find(
              ({ arm, rate, seed }) => arm === 'alone' && rate === at && seed === run.seed,
            )
            return run.arm === 'taught' && run.rate === at && control
              ? [{ over: costOf(control, target, unit), under: costOf(run, target, unit) }]
              : []
          }),
        ),
      )
    const saved = markdown(
      ['alone / taught, rate', 'to', 'tokens', 'processor seconds'],
      [...new Set(runs.map(({ rate }) => rate))]
        .sort()
        .flatMap((at) =>
          targets.map((target) => [
            ...[`${at}`, `${target}`],
            ratios(at, ({ sampledTokens, trialTokens }) => sampledTokens + trialTokens, target),
            ratios(at, ({ processorSeconds }) => processorSeconds, target),
          ]),
        ),
    )
    const keys = [...new Set(runs.map(({ arm, rate }) => `${arm} at ${rate}`))].sort()
    const table = markdown(
      [
        ...[
          'arm',
          'seeds',
          'held-out, taught task',
          'other tasks',
          'fresh questions: first, last three rounds',
        ],
        ...targets.flatMap((target) => [`k tokens to ${target}`, 'processor s']),
      ],
      keys.map((key) => {
        const some = runs.filter(({ arm, rate }) => `${arm} at ${rate}` === key)
        const meanOf = (of: (run: Taught) => number): string => show(summary(some.map(of)))
        const rewards = (from: number, to?: number) => (run: Taught) =>
          mean(run.rounds.slice(from, to).map(({ reward }) => reward))
        const costs = (unit: (round: TaughtRound) => number, target: number): string =>
          showReached(
            some.map((run) => costOf(run, target, unit)),
            1,
          )
        return [
          ...[key, some.map(({ seed }) => seed).join(' ')],
          ...[meanOf(({ taught }) => taught), meanOf(({ others }) => others)],
          `${meanOf(rewards(0, 3))}, ${meanOf(rewards(-3))}`,
          ...targets.flatMap((target) => [
            costs(({ sampledTokens, trialTokens }) => (sampledTokens + trialTokens) / 1000, target),
            costs(({ processorSeconds }) => processorSeconds, target),
          ]),
        ]
      }),
    )
    return `${table}\n\n${saved}`
  },
})
process.exit()
