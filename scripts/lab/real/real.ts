// Does a pretrained model learn on a laptop? `npm run -s lab:real -- --model SmolLM2.gguf [--seeds 3]`
//
// GRPO on a LoRA adapter of a GGUF file's weights, by the daemon's own core, on `number_sorting` with one solved example
// in the model's own chat template. Held-out accuracy on the same different questions before, during and after, sampled
// at temperature 1 and greedy, with 95 % intervals over questions. Every look is a line of docs/results/real.jsonl; a
// run that was cut off is made again, and what it had shown stays in the record. `--show` prints the table alone.

import { loadavg } from 'node:os'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { ADAPTER_TARGETS } from '../../../daemon/engine/decoder.ts'
import { loadModelAs } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { withExamples } from '../../../plugins/tasks/examples.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import type { Estimate } from '../../../protocol/api/index.ts'
import { thisMachine } from '../frame/machine.ts'
import { openRecords } from '../frame/records.ts'
import { markdown, mean } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { createNode, DEFAULT_CORRECTIONS } from '../nodes/node.ts'

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    task: { type: 'string', default: 'number_sorting' },
    difficulty: { type: 'string', default: '0' },
    examples: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    /** The first of them. */
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '40' },
    prompts: { type: 'string', default: '8' },
    group: { type: 'string', default: '8' },
    length: { type: 'string', default: '20' },
    /** A text that ends an answer, for models that have not learnt to end theirs. */
    stop: { type: 'string' },
    rate: { type: 'string', default: '3e-4' },
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
    out: { type: 'string', default: 'docs/results/real.jsonl' },
    show: { type: 'boolean', default: false },
  },
})

/** One evaluation of a run. */
interface Look {
  run: string
  by: 'waggle'
  model: string
  seed: number
  settings: string
  step: number
  /** Sampled for training so far. */
  tokens: number
  /** Spent on sampling and training, without evaluations. */
  seconds: number
  /** Processor time of the same, of all threads. Absent in the first runs. */
  cpu?: number
  sampled: Estimate
  greedy: Estimate
  questions: number
  /** Mean reward of training rollouts in each step since the last look. */
  rewards: number[]
  /** Peak of this process, in bytes. */
  rss: number
  machine: string
  /** When it was taken, and the machine's one-minute load: a busy machine makes `seconds` long. */
  at: string
  load: number
}

const base = oneOf(['f32', 'file'] as const, 'base')
const samplingPrecision = oneOf(['int8', 'float32'] as const, 'sampling')
const records = await openRecords<Look>(flags.out)
if (!flags.show) await play()
show(records.done)

function oneOf<Choice extends string>(choices: readonly Choice[], flag: 'base' | 'sampling'): Choice {
  const chosen = choices.find((one) => one === flags[flag])
  if (chosen === undefined) throw new Error(`--${flag} is "${flags[flag]}"; there are ${choices.join(', ')}`)
  return chosen
}

async function play(): Promise<void> {
  if (flags.model === undefined) throw new Error('name a model: --model FILE.gguf')
  const { steps, prompts, group, length, rate, rank, examples, questions, task, difficulty } = flags
  const settings = JSON.stringify({
    task,
    difficulty,
    examples,
    prompts,
    group,
    length,
    rate,
    rank,
    questions,
    ...(base !== 'f32' && { base, sampling: samplingPrecision }),
    ...(flags.uncorrected && { uncorrected: true }),
    ...(flags.stop && { stop: flags.stop }),
  })
  const model = await loadModelAs(flags.model, { disk }, () => base)
  const corrections = DEFAULT_CORRECTIONS.filter(({ use }) => use !== 'tis' || !flags.uncorrected)
  const known = TASKS.map((one) => withExamples(one, Number(examples)))
  for (let seed = Number(flags.from); seed < Number(flags.from) + Number(flags.seeds); seed++) {
    const name = basename(flags.model)
    const isDone = records.done.some(
      (look) =>
        look.model === name &&
        look.seed === seed &&
        look.settings === settings &&
        look.by === 'waggle' &&
        look.step >= Number(steps),
    )
    if (isDone) continue
    const node = await createNode({
      name: 'alone',
      seed,
      model,
      adapter: { rank: Number(rank), alpha: 2 * Number(rank), targets: [...ADAPTER_TARGETS] },
      tasks: [{ name: task, difficulty: Number(difficulty) }],
      known,
      own: Number(prompts),
      foreign: 0,
      adaptive: false,
      groupSize: Number(group),
      learningRate: Number(rate),
      warmUpSteps: 3,
      maxNewTokens: Number(length),
      ...(flags.stop && { stop: [flags.stop] }),
      checkpointEvery: 1000,
      corrections,
      engine: createLocalEngine({
        threads: Number(flags.threads),
        samplingPrecision,
      }),
    })
    const run = `waggle/${name}/${seed}/${new Date().toISOString()}`
    let seconds = 0
    let cpu = 0
    let rewards: number[] = []
    const look = async (step: number): Promise<void> => {
      const { overall, questions: asked } = await node.evaluate(Number(questions))
      await records.add({
        ...{ run, by: 'waggle', model: name, seed, settings, step, questions: asked },
        ...{ tokens: node.compute.generated, seconds, cpu, ...overall, rewards },
        rss: process.resourceUsage().maxRSS * 1024,
        ...{ machine: thisMachine(), at: new Date().toISOString(), load: loadavg()[0]! },
      })
      const { sampled, greedy } = overall
      console.error(
        `${name} seed ${seed} step ${step}: sampled ${share(sampled)}, greedy ${share(greedy)}, ${node.compute.generated} tokens, ${seconds.toFixed(0)} s`,
      )
      rewards = []
    }
    await look(0)
    for (let step = 1; step <= Number(steps); step++) {
      const [started, cpuBefore] = [performance.now(), process.cpuUsage()]
      const { reward, generatedTokens } = await node.round()
      const { user, system } = process.cpuUsage(cpuBefore)
      cpu += (user + system) / 1e6
      seconds += (performance.now() - started) / 1000
      rewards.push(reward)
      console.error(
        `  step ${step}: reward ${reward.toFixed(3)}, ${generatedTokens} tokens, ${seconds.toFixed(0)} s`,
      )
      if (step % Number(flags.every) === 0 || step === Number(steps)) await look(step)
    }
  }
}

function show(looks: readonly Look[]): void {
  const runs = [...new Set(looks.map(({ run }) => run))].map((run) => looks.filter((one) => one.run === run))
  const rows = runs.flatMap((run) =>
    run.map((look) => [
      look.by,
      look.model,
      `${look.seed}`,
      `${look.step}`,
      `${look.tokens}`,
      look.seconds.toFixed(0),
      look.cpu?.toFixed(0) ?? '',
      share(look.sampled),
      share(look.greedy),
      look.rewards.length > 0 ? mean(look.rewards).toFixed(3) : '',
      `${(look.rss / 1e9).toFixed(1)} GB`,
      look.load.toFixed(0),
    ]),
  )
  const head = [
    'by',
    'model',
    'seed',
    'step',
    'tokens',
    'seconds',
    'cpu',
    'sampled',
    'greedy',
    'reward since',
    'peak',
    'load',
  ]
  console.log(markdown(head, rows))
}

function share({ value, low, high }: Estimate): string {
  const percent = (x: number): string => (100 * x).toFixed(1)
  return `${percent(value)} % (${percent(low)} to ${percent(high)})`
}
