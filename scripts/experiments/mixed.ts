// Does a swarm of different models harm any of them? `npm run -s experiment:mixed [-- --rounds 60 --seeds 3 --out
// FILE]`
//
// Three model sizes and two tokenizers in one process: a small model with its own tokenizer, the model of three
// tasks, and a larger one with the same tokenizer as that. Two nodes of each learn together with adaptive sharing,
// and two of each alone, with the same seeds and rounds. Prints for each size: held-out accuracy and reward together
// and alone, the difference paired by seed and node with its 95 % interval, and the final J. Missing models are
// created first.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parameterCount } from '../../daemon/engine/decoder.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { openRecords } from '../lab/frame/records.ts'
import { markdown, mean, questionsOf, show, summary } from '../lab/frame/statistics.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createNode } from './in-process/node.ts'
import { loadStart, folderOf as startFolder } from './in-process/start.ts'
import { runRounds } from './in-process/swarm.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    seeds: { type: 'string', default: '3' },
    each: { type: 'string', default: '2' },
    prompts: { type: 'string', default: '200' },
    'learning-rate': { type: 'string', default: '5e-5' },
    models: { type: 'string', default: '.cache/experiments/models' },
    'model-steps': { type: 'string', default: '300' },
    out: { type: 'string', default: '.cache/experiments/mixed.jsonl' },
  },
})
const [rounds, each] = [Number(flags.rounds), Number(flags.each)]
const learningRate = Number(flags['learning-rate'])
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const SIZES = [
  // The other tokenizer has 320 tokens: there is no more to merge in the tasks' text.
  { name: 'small', make: ['--hidden', '64', '--layers', '4', '--pieces', '290'] },
  { name: 'medium', make: undefined },
  { name: 'large', make: ['--hidden', '192', '--layers', '5'] },
] as const

interface Run {
  together: boolean
  seed: number
  rounds: number
  each: number
  learningRate: number
  nodes: {
    size: string
    /** Mean over the last third of the rounds. */
    reward: number
    questions?: number
    sampled: number
    greedy: number
    foreignAtEnd: number
    verdict: string
  }[]
  seconds: number
}

function folderOf({ name, make }: (typeof SIZES)[number]): string {
  if (!make) return startFolder('three-tasks')
  const folder = join(flags.models, `${name}-${flags['model-steps']}`)
  if (existsSync(join(folder, 'README.md'))) return folder
  const script = join(ROOT, 'scripts/default-model/make.ts')
  const given = [
    '--recipe',
    'three',
    '--out',
    folder,
    '--batch',
    '128',
    '--steps',
    flags['model-steps'],
    '--threads',
    '1',
    ...make,
  ]
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', script, ...given], {
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) throw new Error(`the ${name} model was not made`)
  return folder
}

const { tasks } = await loadStart('three-tasks')
const models = await Promise.all(
  SIZES.map(async (size) => ({ ...size, model: await loadModel(folderOf(size), { disk }) })),
)
if (new Set(models.map(({ model }) => model.tokenizer.digest)).size < 2)
  throw new Error('all models have one tokenizer')
const records = await openRecords<Run>(flags.out)
const engines: Engine[] = []
const engineOf = (i: number): Engine => {
  engines[i] ??= createLocalEngine({ threads: 1 })
  return engines[i]
}

for (let seed = 1; seed <= Number(flags.seeds); seed++) {
  for (const together of [false, true]) {
    const isDone = records.done.some(
      (run) =>
        run.seed === seed &&
        run.together === together &&
        run.rounds === rounds &&
        run.each === each &&
        run.learningRate === learningRate,
    )
    if (isDone) continue
    const started = performance.now()
    const members = models.flatMap(({ name, model }) => Array.from({ length: each }, () => ({ name, model })))
    const nodes = await Promise.all(
      members.map(({ name, model }, i) =>
        createNode({
          name: `${name} ${i}`,
          seed: 1000 * seed + i,
          model,
          engine: engineOf(i),
          tasks,
          own: 4,
          foreign: together ? 4 : 0,
          adaptive: true,
          learningRate,
        }),
      ),
    )
    const rewards = nodes.map((): number[] => [])
    await runRounds(
      { rounds },
      {
        nodes,
        onRound({ round, reports }) {
          reports.forEach(({ reward }, i) => {
            rewards[i]!.push(reward)
          })
          if (round % 20 === 19)
            process.stderr.write(
              `${together ? 'together' : 'alone'} seed ${seed} round ${round + 1}: ${((performance.now() - started) / 1000).toFixed(0)} s\n`,
            )
        },
      },
    )
    const ends: Run['nodes'] = []
    for (const [i, node] of nodes.entries()) {
      const { questions, sampled, greedy } = await node.evaluate(Number(flags.prompts))
      ends.push({
        size: members[i]!.name,
        reward: mean(rewards[i]!.slice(-Math.ceil(rounds / 3))),
        questions,
        sampled,
        greedy,
        foreignAtEnd: node.learner.sharing()?.foreign ?? 0,
        verdict: node.learner.sharing()?.verdict ?? 'none',
      })
    }
    const seconds = (performance.now() - started) / 1000
    await records.add({ together, seed, rounds, each, learningRate, nodes: ends, seconds })
  }
}
for (const engine of engines) await engine.close()

const chosen = records.done.filter(
  (run) => run.rounds === rounds && run.each === each && run.learningRate === learningRate,
)
/** By seed: nodes of one swarm are not independent of one another. */
const endsOf = (together: boolean, size: string): Run['nodes'][] =>
  chosen
    .filter((run) => run.together === together)
    .sort((a, b) => a.seed - b.seed)
    .map(({ nodes }) => nodes.filter((node) => node.size === size))
console.log(
  `${rounds} rounds, ${each} nodes of each size, ${flags.seeds} seeds, ${questionsOf(chosen.flatMap(({ nodes }) => nodes))}`,
)
console.log(
  markdown(
    [
      'model',
      'parameters',
      'tokenizer',
      'sampled, alone',
      'together',
      'difference',
      'reward, alone',
      'together',
      'difference',
      'J at the end',
    ],
    models.map(({ name, model }) => {
      const [alone, together] = [endsOf(false, name), endsOf(true, name)]
      const column = (read: (end: Run['nodes'][number]) => number): string[] => {
        const [apart, shared] = [alone, together].map((runs) => runs.map((ends) => mean(ends.map(read)))) as [
          number[],
          number[],
        ]
        const differences = shared.map((value, i) => value - apart[i]!)
        return [apart, shared, differences].map((values) => show(summary(values)))
      }
      return [
        name,
        `${(parameterCount(model.spec) / 1e6).toFixed(2)} M`,
        model.tokenizer.digest.slice(0, 8),
        ...column(({ sampled }) => sampled),
        ...column(({ reward }) => reward),
        mean(together.flat().map(({ foreignAtEnd }) => foreignAtEnd)).toFixed(1),
      ]
    }),
  ),
)
