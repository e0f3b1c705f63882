// Nodes of one lineage that each train on another task: what does each know of all three, if their weights are averaged?
// `npm run -s lab:heads-unlike [-- --arms apart,split,supervised --rates apart=1e-4,split=2.4e-4,supervised=1e-3 --seeds 1,2,3]`
//
// Three nodes from one start, each with one of the three tasks. Arms:
//   apart       each learns for itself. At every look, what one average of all three would be is looked at as well
//   split       weights are averaged after each round of eight prompts in four steps, as in lab:heads
//   supervised  each is made by --steps supervised steps on worked answers to its task; one average, no rollouts
// A node takes an average if its own task keeps what it had, by the rule of the daemon's trials.

import { randomStream } from '../../../daemon/host/random.ts'
import { join as joinHeads } from '../../../daemon/trainer/heads/join.ts'
import { judge, type TaskAccuracy } from '../../../daemon/trainer/heads/trial.ts'
import { distance, layoutOf, toVector, toWeights, type Vector } from '../../../daemon/trainer/heads/vector.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { answerIn } from '../../default-model/corpus.ts'
import { runExperiment } from '../frame/experiment.ts'
import { markdown, mean, show, summary } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import type { ExperimentNode } from '../nodes/node.ts'
import { loadStart } from '../nodes/start.ts'
import { supervise } from '../nodes/supervise.ts'
import { createHeadSwarm } from './swarm.ts'

interface UnlikeLook {
  /** Of a node, as means. */
  sampledTokens: number
  processorSeconds: number
  /** By node, then by task in the order of TASKS_OF. */
  nodes: number[][]
  /** By task, of one average of all. */
  merged?: number[]
  /** By node: whether it takes the average. */
  taken?: boolean[]
}

const { model } = await loadStart('three-tasks')
const tasks = [
  { name: 'basic_arithmetic', difficulty: 1 },
  { name: 'base_conversion', difficulty: 0 },
  { name: 'fraction_simplification', difficulty: 1 },
]
const layout = layoutOf(model.spec)

await runExperiment<string, { looks: UnlikeLook[] }>({
  question:
    'Three nodes with a task each: does each come to 80 % of every specialist, and keep 90 % of its own task?',
  defaults: {
    arms: 'supervised,split,apart',
    rates: 'apart=1e-4,split=2.4e-4,supervised=1e-3',
    seeds: '1,2,3',
    out: 'docs/results/unlike-heads.jsonl',
  },
  flags: {
    tokens: { type: 'string', default: '20000' },
    looks: { type: 'string', default: '2' },
    prompts: { type: 'string', default: '150' },
    steps: { type: 'string', default: '200' },
  },
  settings: ({ tokens, looks, prompts, steps }) => ({
    tokens: Number(tokens),
    looks: Number(looks),
    prompts: Number(prompts),
    steps: Number(steps),
  }),
  arm(name) {
    if (!['apart', 'split', 'supervised'].includes(name))
      throw new Error(`no arm "${name}"; there are apart, split, supervised`)
    return name
  },

  async play(arm, { rate, seed, values, meter }) {
    const [tokens, count, prompts] = [Number(values.tokens), Number(values.looks), Number(values.prompts)]
    const minibatches = arm === 'split' ? 4 : 2
    const swarm = await createHeadSwarm(
      {
        ...{ nodes: tasks.length, seed },
        node: (i) => ({ model, tasks: [tasks[i]!], own: 8, minibatches, learningRate: rate }),
      },
      { meter },
    )
    const { nodes } = swarm
    const looks: UnlikeLook[] = []
    const sampledTokens = () => mean(nodes.map(({ compute }) => compute.generated))
    const look = async (): Promise<void> => {
      const spent = ((meter.seconds.rounds ?? 0) + (meter.seconds.exchange ?? 0)) / nodes.length
      const seen = await meter.part('look', () => lookAt(nodes, { prompts, isMerged: arm !== 'split' }))
      looks.push({ sampledTokens: sampledTokens(), processorSeconds: spent, ...seen })
    }
    await look()
    if (arm === 'supervised') {
      for (const [i, node] of nodes.entries())
        await meter.part('supervised', () =>
          specialise(node, { task: tasks[i]!, seed, rate, steps: Number(values.steps) }),
        )
      await look()
      return { looks }
    }
    while (sampledTokens() < tokens) {
      if (arm === 'split') await swarm.tick()
      else for (const node of nodes) await meter.part('rounds', () => node.round())
      if (sampledTokens() >= (looks.length * tokens) / count) await look()
    }
    return { looks }
  },

  table(runs) {
    const keys = [...new Set(runs.map(({ arm, rate }) => `${arm} at ${rate}`))].sort()
    const share = (values: readonly number[]): string => show(summary(values), 2)
    return markdown(
      ['arm', 'weights', 'seeds', ...tasks.map(({ name }) => `${name}: its node, the others`), 'taken'],
      keys.flatMap((key) => {
        const some = runs.filter(({ arm, rate }) => `${arm} at ${rate}` === key)
        const last = some.map(({ looks }) => looks.at(-1)!)
        const merged = last.flatMap(({ merged, taken }) => (merged && taken ? [{ merged, taken }] : []))
        const row = (weights: string, cells: readonly string[], taken = ''): string[] => [
          ...[key, weights, some.map(({ seed }) => seed).join(' ')],
          ...[...cells, taken],
        ]
        return [
          row(
            'its own',
            tasks.map((_, t) => {
              const others = last.map(({ nodes }) =>
                mean(nodes.filter((_, i) => i !== t).map((of) => of[t]!)),
              )
              return `${share(last.map(({ nodes }) => nodes[t]![t]!))}, ${share(others)}`
            }),
          ),
          ...(merged.length > 0
            ? [
                row(
                  'one average',
                  tasks.map((_, t) => share(merged.map((of) => of.merged[t]!))),
                  `${merged.flatMap(({ taken }) => taken).filter(Boolean).length} of ${3 * merged.length}`,
                ),
              ]
            : []),
        ]
      }),
    )
  },
})
process.exit()

/** Accuracy of every node in every task; and of the average of all, with what each node's trial says of it. */
async function lookAt(
  nodes: readonly ExperimentNode[],
  { prompts, isMerged }: { prompts: number; isMerged: boolean },
): Promise<Pick<UnlikeLook, 'nodes' | 'merged' | 'taken'>> {
  const seen: TaskAccuracy[][] = []
  for (const node of nodes) seen.push(await accuracies(node, prompts))
  const found = { nodes: seen.map((one) => one.map(({ accuracy }) => accuracy)) }
  if (!isMerged) return found
  const own = await Promise.all(nodes.map(({ policy }) => policy.trainer.weights()))
  const vectors = own.map((weights) => toVector(layout, weights))
  const [first] = nodes as [ExperimentNode]
  // All are as far from all, so that each comes to the same average.
  await first.policy.replace(toWeights(layout, averageOf(vectors)), { isUrgent: true })
  const average = await accuracies(first, prompts)
  await first.policy.replace(own[0]!, { isUrgent: true })
  return {
    ...found,
    merged: average.map(({ accuracy }) => accuracy),
    taken: seen.map((one, i) => judge([one[i]!], [average[i]!]).isTaken),
  }
}

function averageOf(vectors: readonly Vector[]): Vector {
  const [own, ...others] = vectors as [Vector, ...Vector[]]
  const heads = others.map((one) => ({ weights: () => one, beside: own, apart: distance(one, own) }))
  return joinHeads(own, heads, { nodes: vectors.length, farthest: Number.POSITIVE_INFINITY }).weights
}

async function accuracies(node: ExperimentNode, prompts: number): Promise<TaskAccuracy[]> {
  const found: TaskAccuracy[] = []
  for (const task of tasks) {
    const { sampled, questions } = await node.evaluate(prompts, { tasks: [task] })
    const error = Math.sqrt((sampled * (1 - sampled)) / questions)
    found.push({ task: task.name, accuracy: sampled, error })
  }
  return found
}

/** Makes a node the specialist of a task, on worked answers to it. */
async function specialise(
  node: ExperimentNode,
  {
    task: { name, difficulty },
    seed,
    rate,
    steps,
  }: { task: (typeof tasks)[number]; seed: number; rate: number; steps: number },
): Promise<void> {
  const [engine, random] = [createLocalEngine({ threads: 1 }), randomStream(seed, `specialist/${name}`)]
  const task = TASKS.find((one) => one.name === name)!
  const example = () => {
    const instance = task.generate({
      ...{ seed: Math.floor(random() * HELD_OUT_SEED), difficulty, warmStart: true },
    })
    return { question: instance.question, completion: answerIn('worked', instance) }
  }
  await supervise({ steps, batch: 32, learningRate: rate, example }, { engine, model })
  await node.policy.replace(await engine.weights(), { isUrgent: true })
  await engine.close()
}
