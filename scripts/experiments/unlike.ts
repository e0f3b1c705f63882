// Does a node learn from peers what it cannot do at all? `npm run -s experiment:unlike [-- --arms alone,swarm --seeds 3 --out FILE]`
//
// Three specialists: the model of three tasks after supervised steps on one of its tasks, in which it forgets the
// others. Each is asked all three tasks, two prompts of each in a round. Arms:
//   alone    hears of nobody
//   swarm    peers' groups into one batch with its own
//   trust    the same where every user vouches for all peers
//   nll      as `trust`, with `success_nll`: supervised learning on verified right answers, own and peers'
//   lessons  trusted peers' right answers, kept and learnt several times each, in tasks where they are better
//   rescue   `common` and `rescue`: where all own answers are wrong, a peer's right one joins the group
//   plain    as `rescue`, with the log-prob of a borrowed token as its loss instead of LUFFY's shape
//   bound@960  no swarm: supervised steps, 32 examples each, on worked answers to 960 questions of every task. What can be
//            learnt at best from so many questions; `--rounds 300 --rates 1e-3`
// What counts, said before the first run: every node reaches 80 % of the specialist's held-out accuracy in each task,
// while alone it stays below half of it. The specialist's accuracy is that of `alone` at the end, in its own task.
// Accuracy is sampled at temperature 1 on held-out questions. Learning rates are chosen on seeds above 100.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Engine } from '../../daemon/engine/engine.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { heldOutPrompts } from '../../daemon/rollout/evaluation/held-out.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { Random, Task } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { answerIn } from '../default-model/corpus.ts'
import { openRecords } from '../lab/frame/records.ts'
import { markdown, mean, show, summary } from '../lab/frame/statistics.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createNode, DEFAULT_CORRECTIONS, type ExperimentNode, type NodeOptions } from './in-process/node.ts'
import { folderOf, loadStart } from './in-process/start.ts'
import { supervise } from './in-process/supervise.ts'
import { runRounds } from './in-process/swarm.ts'
import { thisMachine } from './machine.ts'
import { accuracy } from './plugins/answers.ts'
import { keepModel } from './plugins/warm-start.ts'

const { values: flags } = parseArgs({
  options: {
    arms: { type: 'string', default: 'alone,swarm,trust,nll,rescue,plain' },
    rates: { type: 'string', default: '1e-4' },
    seeds: { type: 'string', default: '1,2,3' },
    rounds: { type: 'string', default: '80' },
    every: { type: 'string', default: '20' },
    own: { type: 'string', default: '6' },
    prompts: { type: 'string', default: '100' },
    models: { type: 'string', default: '.cache/experiments/models' },
    steps: { type: 'string', default: '200' },
    out: { type: 'string', default: 'docs/results/unlike.jsonl' },
    /** Only prints the table of the runs in the file. */
    show: { type: 'boolean', default: false },
  },
})
const [rounds, own, prompts] = [Number(flags.rounds), Number(flags.own), Number(flags.prompts)]
const MAX_NEW_TOKENS = 96

const COMMON = { use: 'common', common: 0.5, again: 0.25 }
const ARMS: Record<
  string,
  Pick<NodeOptions, 'foreign' | 'trusts' | 'corrections' | 'plugins'> & { isAlone?: boolean }
> = {
  alone: { foreign: 0, isAlone: true },
  swarm: { foreign: 2 * own },
  trust: { foreign: 2 * own, trusts: true },
  nll: { foreign: 2 * own, trusts: true, corrections: [...DEFAULT_CORRECTIONS, { use: 'success_nll' }] },
  lessons: { foreign: 0, trusts: true, plugins: { replay: [{ use: 'lessons' }] } },
  rescue: { foreign: 0, plugins: { replay: [{ use: 'rescue' }], selector: COMMON } },
  plain: { foreign: 0, plugins: { replay: [{ use: 'rescue', loss: 'plain' }], selector: COMMON } },
}

/** By task, of each specialist. */
type Accuracies = Record<string, number>[]
interface Run {
  arm: string
  rate: number
  seed: number
  settings: string
  looks: { round: number; accuracy: Accuracies }[]
  /** Of a node: its own sampled tokens. */
  tokens: number
  seconds: number
}

const { model: start, tasks } = await loadStart('three-tasks')
const chosen = tasks.map(({ name, difficulty = 1 }) => ({ name, difficulty }))
const taskOf = (name: string): Task => TASKS.find((task) => task.name === name)!
const engines: Engine[] = chosen.map(() => createLocalEngine({ threads: 1 }))
const settings = JSON.stringify([rounds, own, prompts, Number(flags.steps)])
const records = await openRecords<Run>(flags.out)
const comparable = (): Run[] => records.done.filter((run) => run.settings === settings)

if (!flags.show) {
  const specialists: Model[] = []
  for (const { name } of chosen) specialists.push(await specialistIn(name))
  for (const seed of flags.seeds.split(',').map(Number))
    for (const arm of flags.arms.split(','))
      for (const rate of flags.rates.split(',').map(Number)) {
        if (comparable().some((run) => run.arm === arm && run.rate === rate && run.seed === seed)) continue
        const run = await play({ arm, rate, seed }, specialists)
        await records.add(run)
        process.stderr.write(
          `${arm} ${rate} seed ${seed}, ${run.seconds.toFixed(0)} s\n${run.looks.map(lineOf).join('\n')}\n`,
        )
      }
}
for (const engine of engines) await engine.close()
console.log(thisMachine())
console.log(table(comparable()))

async function play(
  { arm, rate, seed }: Pick<Run, 'arm' | 'rate' | 'seed'>,
  specialists: readonly Model[],
): Promise<Run> {
  const started = performance.now()
  const bound = /^bound@(\d+)$/.exec(arm)
  if (bound) {
    const seen: Accuracies = []
    for (const [i, model] of specialists.entries()) {
      const example = examplesOf(Number(bound[1]), randomStream(seed, `bound/${i}`))
      await supervise(
        { steps: rounds, batch: 32, learningRate: rate, example },
        { engine: engines[i]!, model },
      )
      seen.push(await accuraciesAt(i))
    }
    const seconds = (performance.now() - started) / 1000
    return { arm, rate, seed, settings, looks: [{ round: rounds, accuracy: seen }], tokens: 0, seconds }
  }
  if (!ARMS[arm]) throw new Error(`no arm "${arm}"; there are ${Object.keys(ARMS).join(', ')}`)
  const { isAlone, ...options } = ARMS[arm]
  const nodes: ExperimentNode[] = []
  for (const [i, model] of specialists.entries())
    nodes.push(
      await createNode({
        ...{ name: `node ${i}`, seed: 1000 * seed + i, model, tasks: chosen, engine: engines[i]!, own },
        ...{ adaptive: false, learningRate: rate, maxNewTokens: MAX_NEW_TOKENS, swarm: 'unlike', ...options },
      }),
    )
  const looks: Run['looks'] = []
  const look = async (round: number): Promise<void> => {
    const seen: Accuracies = []
    for (const [i] of nodes.entries()) seen.push(await accuraciesAt(i))
    looks.push({ round, accuracy: seen })
  }
  await look(0)
  const onRound = async (round: number): Promise<void> => {
    if ((round + 1) % Number(flags.every) === 0) await look(round + 1)
  }
  if (isAlone)
    for (let round = 0; round < rounds; round++) {
      for (const node of nodes) await node.round()
      await onRound(round)
    }
  else await runRounds({ rounds }, { nodes, onRound: ({ round }) => onRound(round) })
  const tokens = mean(nodes.map(({ compute }) => compute.generated))
  return { arm, rate, seed, settings, looks, tokens, seconds: (performance.now() - started) / 1000 }
}

/** Of the node at this place as it is now. */
async function accuraciesAt(place: number): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const { name, difficulty } of chosen) {
    const ask = { engine: engines[place]!, model: start, task: taskOf(name), maxNewTokens: MAX_NEW_TOKENS }
    found[name] = await accuracy(await heldOutPrompts(ask.task, difficulty, prompts), ask)
  }
  return found
}

/** Draws from worked answers to `count` questions of every task. */
function examplesOf(count: number, random: Random): () => { question: string; completion: string } {
  const examples = chosen.flatMap(({ name, difficulty }) =>
    Array.from({ length: count }, () => {
      const instance = taskOf(name).generate({ seed: Math.floor(random() * HELD_OUT_SEED), difficulty })
      return { question: instance.question, completion: answerIn('worked', instance) }
    }),
  )
  return () => examples[Math.floor(random() * examples.length)]!
}

/** Made once and kept on disk. */
async function specialistIn(name: string): Promise<Model> {
  const folder = join(flags.models, `specialist-${name}-${flags.steps}`)
  if (!existsSync(join(folder, 'model.safetensors'))) {
    const { difficulty } = chosen.find((task) => task.name === name)!
    const task = taskOf(name)
    const [engine, random] = [createLocalEngine({ threads: 1 }), randomStream(1, `specialist/${name}`)]
    const example = () => {
      const seed = Math.floor(random() * HELD_OUT_SEED)
      const instance = task.generate({ seed, difficulty, warmStart: true })
      return { question: instance.question, completion: answerIn('worked', instance) }
    }
    await supervise(
      { steps: Number(flags.steps), batch: 32, learningRate: 1e-3, example },
      { engine, model: start },
    )
    await keepModel(folder, folderOf('three-tasks'), { engine, model: start })
    await engine.close()
  }
  return await loadModel(folder, { disk })
}

function lineOf({ round, accuracy: seen }: Run['looks'][number]): string {
  const nodes = seen.map((one) => chosen.map(({ name }) => one[name]!.toFixed(2)).join(' '))
  return `  round ${round}: ${nodes.join(' | ')}`
}

/** By arm: of each task, the accuracy of its specialist and of the others at the end. */
function table(runs: readonly Run[]): string {
  const keys = [...new Set(runs.map(({ arm, rate }) => `${arm} ${rate}`))]
  const cell = (some: readonly Run[], place: number, isOwn: boolean): string =>
    show(
      summary(
        some.map(({ looks }) =>
          mean(
            looks
              .at(-1)!
              .accuracy.filter((_, i) => (i === place) === isOwn)
              .map((one) => one[chosen[place]!.name]!),
          ),
        ),
      ),
    )
  return markdown(
    ['arm', 'rate', 'seeds', ...chosen.flatMap(({ name }) => [`${name}: its specialist`, 'the others'])],
    keys.map((key) => {
      const [arm, rate] = key.split(' ') as [string, string]
      const some = runs.filter((run) => run.arm === arm && `${run.rate}` === rate)
      return [
        ...[arm, rate, some.map(({ seed }) => seed).join(' ')],
        ...chosen.flatMap((_, place) => [cell(some, place, true), cell(some, place, false)]),
      ]
    }),
  )
}
