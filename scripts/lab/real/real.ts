// Does a pretrained model learn on a laptop? `npm run -s lab:real -- --model SmolLM2.gguf [--arms waggle,trl --seeds 1,2,3]`
//
// GRPO on a LoRA adapter of a GGUF file's weights, by the daemon's own core, on `number_sorting` with one solved example
// in the model's own chat template. The arm `trl` trains the same by TRL (trl.ts). Held-out accuracy on the same
// different questions before, during and after, sampled at temperature 1 and greedy, with 95 % intervals over questions.
// `--show` prints all runs.

import { loadavg } from 'node:os'
import { basename } from 'node:path'
import { ADAPTER_TARGETS } from '../../../daemon/engine/decoder.ts'
import { loadModel, loadModelAs } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { withExamples } from '../../../plugins/tasks/examples.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import type { Estimate } from '../../../protocol/api/index.ts'
import { type Played, runExperiment } from '../frame/experiment.ts'
import type { Values } from '../frame/flags.ts'
import { markdown, mean } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { createNode, DEFAULT_CORRECTIONS } from '../nodes/node.ts'
import type { Look } from './look.ts'
import { trainByTrl } from './trl.ts'

interface Result {
  looks: Look[]
}
type Arm = (run: Played, onLook: (look: Look) => void) => Promise<void>

const ARMS: Readonly<Record<string, Arm>> = { waggle: trainHere, trl: trainThere }

await runExperiment<Arm, Result>({
  question:
    'How many held-out questions does a pretrained model get right after so many steps, and at what cost?',
  defaults: { arms: 'waggle', rates: '3e-4', seeds: '1', out: 'docs/results/real.jsonl' },
  flags: {
    model: { type: 'string' },
    task: { type: 'string', default: 'number_sorting' },
    difficulty: { type: 'string', default: '0' },
    examples: { type: 'string', default: '1' },
    steps: { type: 'string', default: '40' },
    prompts: { type: 'string', default: '8' },
    group: { type: 'string', default: '8' },
    length: { type: 'string', default: '20' },
    /** A text that ends an answer, for models that have not learnt to end theirs. */
    stop: { type: 'string' },
    rank: { type: 'string', default: '16' },
    /** How frozen matrices are kept: `f32`, or `file` for the file's own blocks. */
    base: { type: 'string', default: 'f32' },
    /** What the sampler multiplies such blocks by: `int8`, or `float32`, which agrees with the trainer. */
    sampling: { type: 'string', default: 'int8' },
    /** Leaves out truncated importance sampling: the sampler is taken for the trainer. */
    uncorrected: { type: 'boolean', default: false },
    /** Steps between two looks, and held-out questions of each. */
    every: { type: 'string', default: '10' },
    questions: { type: 'string', default: '100' },
    threads: { type: 'string', default: '2' },
    /** TRL's supervised steps before the others, on 32 worked examples, as in the recipes (their own runs: lab:up). */
    warm: { type: 'string', default: '0' },
    /** TRL's answers in one backward pass, where it runs (`cuda`), and a Python that has TRL already. */
    micro: { type: 'string', default: '16' },
    device: { type: 'string', default: 'cpu' },
    python: { type: 'string' },
  },
  settings: settingsOf,
  isComparable: ({ settings, looks }, values) =>
    values.show === true ||
    (JSON.stringify(settings) === JSON.stringify(settingsOf(values)) &&
      looks.at(-1)!.step >= Number(values.steps)),
  arm(name) {
    const arm = ARMS[name]
    if (!arm) throw new Error(`no arm "${name}"; there are ${Object.keys(ARMS).join(', ')}`)
    return arm
  },

  async play(arm, run) {
    const looks: Look[] = []
    await arm(run, (look) => {
      looks.push(look)
      const { step, sampled, greedy, tokens, seconds } = look
      run.log(
        `seed ${run.seed} step ${step}: sampled ${share(sampled)}, greedy ${share(greedy)}, ${tokens} tokens, ${seconds.toFixed(0)} s`,
      )
    })
    return { looks }
  },

  table: (runs) =>
    markdown(
      [
        ...['by', 'model', 'rate', 'seed', 'step', 'tokens', 'seconds', 'cpu', 'sampled', 'greedy'],
        ...['reward since', 'peak', 'load'],
      ],
      runs.flatMap(({ arm, rate, seed, settings, looks }) =>
        looks.map((look) => [
          ...[arm, `${settings.model}`, `${rate}`, `${seed}`, `${look.step}`, `${look.tokens}`],
          ...[look.seconds.toFixed(0), look.cpu?.toFixed(0) ?? '', share(look.sampled), share(look.greedy)],
          look.rewards.length > 0 ? mean(look.rewards).toFixed(3) : '',
          ...[`${(look.rss / 1e9).toFixed(1)} GB`, look.load.toFixed(0)],
        ]),
      ),
    ),
})
process.exit(0)

function settingsOf(values: Values): Record<string, unknown> {
  const { task, difficulty, examples, prompts, group, length, rank, questions, base, sampling } = values
  return {
    model: basename(String(values.model)),
    ...{ task, difficulty, examples, prompts, group, length, rank, questions },
    ...(base !== 'f32' && { base, sampling }),
    ...(values.uncorrected === true && { uncorrected: true }),
    ...(values.stop !== undefined && { stop: values.stop }),
    ...(values.warm !== '0' && { warm: values.warm }),
    ...(values.device !== 'cpu' && { device: values.device }),
  }
}

function fileOf({ model }: Values): string {
  if (typeof model !== 'string') throw new Error('name a model: --model FILE.gguf')
  return model
}

async function trainHere(
  { rate, seed, values, meter, log }: Played,
  onLook: (look: Look) => void,
): Promise<void> {
  const base = oneOf(['f32', 'file'] as const, 'base', values)
  const samplingPrecision = oneOf(['int8', 'float32'] as const, 'sampling', values)
  const rank = Number(values.rank)
  if (values.warm !== '0' || values.device !== 'cpu')
    throw new Error('--warm and --device are for --arms trl: a recipe has its own, in lab:up')
  const node = await createNode({
    ...{ name: 'alone', seed, foreign: 0, adaptive: false, learningRate: rate, warmUpSteps: 3 },
    model: await loadModelAs(fileOf(values), { disk }, () => base),
    adapter: { rank, alpha: 2 * rank, targets: [...ADAPTER_TARGETS] },
    tasks: [{ name: String(values.task), difficulty: Number(values.difficulty) }],
    known: TASKS.map((one) => withExamples(one, Number(values.examples))),
    ...{ own: Number(values.prompts), groupSize: Number(values.group), maxNewTokens: Number(values.length) },
    ...(typeof values.stop === 'string' && { stop: [values.stop] }),
    checkpointEvery: 1000,
    corrections: DEFAULT_CORRECTIONS.filter(({ use }) => use !== 'tis' || values.uncorrected !== true),
    engine: createLocalEngine({ threads: Number(values.threads), samplingPrecision }),
  })
  let seconds = 0
  let rewards: number[] = []
  const look = async (step: number): Promise<void> => {
    const { overall, questions } = await meter.part('look', () => node.evaluate(Number(values.questions)))
    onLook({
      ...{ step, questions, tokens: node.compute.generated, seconds, cpu: meter.seconds.rounds ?? 0 },
      ...{ ...overall, rewards, rss: process.resourceUsage().maxRSS * 1024, load: loadavg()[0]! },
    })
    rewards = []
  }
  await look(0)
  const steps = Number(values.steps)
  for (let step = 1; step <= steps; step++) {
    const started = performance.now()
    const { reward, generatedTokens } = await meter.part('rounds', () => node.round())
    seconds += (performance.now() - started) / 1000
    rewards.push(reward)
    log(`  step ${step}: reward ${reward.toFixed(3)}, ${generatedTokens} tokens, ${seconds.toFixed(0)} s`)
    if (step % Number(values.every) === 0 || step === steps) await look(step)
  }
}

async function trainThere({ rate, seed, values }: Played, onLook: (look: Look) => void): Promise<void> {
  const task = TASKS.find(({ name }) => name === values.task)
  if (!task) throw new Error(`no task "${values.task}"`)
  const number = (name: string): number => Number(values[name])
  const [steps, prompts, group] = [number('steps'), number('prompts'), number('group')]
  const [micro, length, rank] = [number('micro'), number('length'), number('rank')]
  await trainByTrl(
    {
      model: await loadModel(fileOf(values), { disk }),
      task: withExamples(task, number('examples')),
      difficulty: number('difficulty'),
      job: {
        steps,
        prompts,
        group,
        micro,
        length,
        rate,
        rank,
        seed,
        every: number('every'),
        threads: number('threads'),
        device: oneOf(['cpu', 'cuda'] as const, 'device', values),
      },
      warm: { steps: number('warm'), examples: 32, rate: 1e-3 },
      questions: number('questions'),
      python: values.python as string | undefined,
    },
    onLook,
  )
}

function oneOf<Choice extends string>(choices: readonly Choice[], flag: string, values: Values): Choice {
  const chosen = choices.find((one) => one === values[flag])
  if (chosen === undefined) throw new Error(`--${flag} is "${values[flag]}"; there are ${choices.join(', ')}`)
  return chosen
}

function share({ value, low, high }: Estimate): string {
  const percent = (x: number): string => (100 * x).toFixed(1)
  return `${percent(value)} % (${percent(low)} to ${percent(high)})`
}
