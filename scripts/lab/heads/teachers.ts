// What does a teacher save? A specialist in one task teaches a fresh node that trains on three.
// `npm run -s lab:teachers [-- --arms 'alone,taught,taught anchor0' --rates 'alone=1e-4,taught=2e-4' --seeds 1,2,3]`
//
// The specialist is the model of three tasks after supervised steps on one of them; it is made once, and its own cost is
// not counted. The node answers eight prompts a round, groups of eight, and makes four steps. Its teacher scores its answers
// and, for the gate, answers some of its prompts: both count, in tokens and in processor seconds.
//   alone      no teacher
//   taught     the specialist, as the plugin `teachers` has it by default
//   topN, anchorN, weightN: its setting `top`, `anchor` (in %), `coefficient`

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { trainable } from '../../../daemon/engine/stored/stored.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { loadModel } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { answerIn } from '../../default-model/corpus.ts'
import { runExperiment } from '../frame/experiment.ts'
import { costTo, showReached } from '../frame/reach.ts'
import { markdown, mean, show, summary } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { keepModel } from '../nodes/keep-model.ts'
import { createNode, DEFAULT_CORRECTIONS } from '../nodes/node.ts'
import { folderOf, loadStart } from '../nodes/start.ts'
import { supervise } from '../nodes/supervise.ts'

interface Arm {
  /** Of the plugin; undefined without a teacher. */
  settings: Record<string, unknown> | undefined
}

export interface TaughtLook {
  /** Its own answers'. */
  sampledTokens: number
  /** Of the teacher's answers, which the gate asked for. */
  trialTokens: number
  trainedTokens: number
  processorSeconds: number
  /** Held-out accuracy at temperature 1 in the taught task, and as a mean over the others. */
  taught: number
  others: number
  /** Weight of the teacher at the time. */
  weight: number
}

const TAUGHT = 'base_conversion'
const TASKS_OF = [
  { name: 'basic_arithmetic', difficulty: 1 },
  { name: TAUGHT, difficulty: 0 },
  { name: 'fraction_simplification', difficulty: 1 },
]
const { model } = await loadStart('three-tasks')
const engine = createLocalEngine({ threads: 1 })

/** The model of three tasks after supervised steps on the taught one. Made once and kept on disk. */
async function specialist(steps: number): Promise<Weights> {
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
  return trainable((await loadModel(folder, { disk })).weights)
}

await runExperiment<Arm, { teacher: number; looks: TaughtLook[] }>({
  question: 'How much of its own work does a node save if a specialist teaches it one of its tasks?',
  defaults: { arms: 'alone,taught', rates: '2e-4', seeds: '1,2,3', out: 'docs/results/teachers.jsonl' },
  flags: {
    tokens: { type: 'string', default: '24000' },
    looks: { type: 'string', default: '6' },
    prompts: { type: 'string', default: '40' },
    steps: { type: 'string', default: '200' },
    targets: { type: 'string', default: '0.15,0.2,0.25' },
  },
  settings: ({ tokens, looks, prompts, steps }) => ({
    ...{ tokens: Number(tokens), looks: Number(looks) },
    ...{ prompts: Number(prompts), steps: Number(steps) },
  }),

  arm(name) {
    const [kind, ...words] = name.split(' ')
    if (kind !== 'alone' && kind !== 'taught') throw new Error(`no arm "${name}"; there are alone and taught`)
    if (kind === 'alone') return { settings: undefined }
    const settings: Record<string, unknown> = {}
    for (const word of words) {
      const [, setting, value] = word.match(/^(top|anchor|weight)(\d+)$/) ?? []
      if (setting === undefined) throw new Error(`no condition "${word}"`)
      if (setting === 'top') settings.top = Number(value)
      else settings[setting === 'anchor' ? 'anchor' : 'coefficient'] = Number(value) / 100
    }
    return { settings }
  },

  async play({ settings }, { rate, seed, values, meter }) {
    const teacher = await specialist(Number(values.steps))
    const node = await createNode({
      ...{ name: 'student', seed: 1000 * seed, model, tasks: TASKS_OF, engine },
      ...{ own: 8, minibatches: 4, foreign: 0, adaptive: false, learningRate: rate },
      teachers: { specialist: teacher },
      corrections: [
        ...DEFAULT_CORRECTIONS,
        ...(settings ? [{ use: 'teachers', from: ['checkpoint/specialist'], ...settings }] : []),
      ],
    })
    const accuracyIn = async (tasks: typeof TASKS_OF): Promise<number> =>
      (await node.evaluate(Number(values.prompts), undefined, tasks)).sampled
    const others = TASKS_OF.filter(({ name }) => name !== TAUGHT)
    const expert = await node.policy.under(teacher, () =>
      accuracyIn(TASKS_OF.filter(({ name }) => name === TAUGHT)),
    )
    const looks: TaughtLook[] = []
    let [weight, trialTokens] = [0, 0]
    const look = async (): Promise<void> => {
      const seen = await meter.part('look', async () => ({
        taught: await accuracyIn(TASKS_OF.filter(({ name }) => name === TAUGHT)),
        others: await accuracyIn(others),
      }))
      looks.push({
        sampledTokens: node.compute.generated,
        trialTokens,
        trainedTokens: node.compute.trained,
        processorSeconds: meter.seconds.rounds ?? 0,
        ...seen,
        weight,
      })
    }
    await look()
    const [tokens, count] = [Number(values.tokens), Number(values.looks)]
    while (node.compute.generated < tokens) {
      const { step } = await meter.part('rounds', () => node.round())
      trialTokens += step?.pluginMetrics['teachers.trial_tokens'] ?? 0
      weight = step?.pluginMetrics[`teachers.${TAUGHT}.weight`] ?? 0
      if (node.compute.generated >= (looks.length * tokens) / count) await look()
    }
    return { teacher: expert, looks }
  },

  table(runs, values) {
    const targets = String(values.targets).split(',').map(Number)
    const keys = [...new Set(runs.map(({ arm, rate }) => `${arm} at ${rate}`))].sort()
    return markdown(
      [
        ...['arm', 'seeds', 'taught task: start', 'last three looks', 'others: start', 'last three looks'],
        ...targets.flatMap((target) => [`k sampled to ${target}`, 'processor s']),
      ],
      keys.map((key) => {
        const some = runs.filter(({ arm, rate }) => `${arm} at ${rate}` === key)
        const at = (of: (look: TaughtLook) => number, from: number, to?: number): string =>
          show(summary(some.map(({ looks }) => mean(looks.slice(from, to).map(of)))))
        const costs = (unit: (look: TaughtLook) => number, target: number): string =>
          showReached(
            some.map(({ looks }) =>
              costTo(
                target,
                looks.map((look) => ({ cost: unit(look), accuracy: look.taught })),
              ),
            ),
            1,
          )
        return [
          ...[key, some.map(({ seed }) => seed).join(' ')],
          ...[at(({ taught }) => taught, 0, 1), at(({ taught }) => taught, -3)],
          ...[at((look) => look.others, 0, 1), at((look) => look.others, -3)],
          ...targets.flatMap((target) => [
            costs(({ sampledTokens, trialTokens }) => (sampledTokens + trialTokens) / 1000, target),
            costs(({ processorSeconds }) => processorSeconds, target),
          ]),
        ]
      }),
    )
  },
})
process.exit()
