// SAPO's table on this machine: does sharing help, and which mix is best?
// `npm run -s experiment:sapo-table [-- --rounds 80 --seeds 3 --nodes 8 --threads 1 --out FILE]`
//
// Eight nodes with the default model learn its nine tasks in one process (or the three tasks of --model three-tasks).
// In every round each answers I prompts of its own, 8 answers each, and trains on its groups with a signal and on up
// to J of its peers', with one optimizer step. As in the paper, I + J is the same in every column, so a node that
// shares generates less and trains as much; `tokens` counts both. The adaptive node has 4/4 and may lower J. 4/0 and
// 2/0 answer as few prompts, but without peers. The results are the reward summed over rounds and nodes, and final
// held-out accuracy, over seeds. Finished runs are kept in a file; a call with the same file runs only the missing
// ones.

import { parseArgs } from 'node:util'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createNode } from './in-process/node.ts'
import { openRecords } from './in-process/records.ts'
import { loadStart } from './in-process/start.ts'
import { markdown, mean, questionsOf, show, summary } from './in-process/statistics.ts'
import { runRounds } from './in-process/swarm.ts'
import { thisMachine } from './machine.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '80' },
    seeds: { type: 'string', default: '3' },
    /** Two calls, one with --first 1 --seeds 1 and one with --first 2 --seeds 2, may run at once with one file. */
    first: { type: 'string', default: '1' },
    nodes: { type: 'string', default: '8' },
    threads: { type: 'string', default: '1' },
    prompts: { type: 'string', default: '100' },
    model: { type: 'string', default: 'default' },
    /** Such as `basic_arithmetic,bf`; all of the model's if left out. */
    tasks: { type: 'string' },
    /** Of all tasks; what the model's card tells if left out. */
    difficulty: { type: 'string' },
    'completion-tokens': { type: 'string', default: '96' },
    /** Such as `8/0,4/4`; all if left out. */
    mixes: { type: 'string' },
    'learning-rate': { type: 'string', default: '5e-5' },
    out: { type: 'string', default: '.cache/experiments/sapo-table.jsonl' },
  },
})
const rounds = Number(flags.rounds)

const MIXES = [
  { name: '8/0', own: 8, foreign: 0, adaptive: false },
  { name: '6/2', own: 6, foreign: 2, adaptive: false },
  { name: '4/4', own: 4, foreign: 4, adaptive: false },
  { name: '2/6', own: 2, foreign: 6, adaptive: false },
  { name: 'adaptive', own: 4, foreign: 4, adaptive: true },
  // Beside the paper's: the same own groups without anybody else's, and so with less compute.
  { name: '4/0', own: 4, foreign: 0, adaptive: false },
  { name: '2/0', own: 2, foreign: 0, adaptive: false },
] as const

interface Run {
  model: string
  /** Absent for all of the model's. */
  tasks?: string
  /** Absent for those of the model's card. */
  difficulty?: number
  mix: string
  seed: number
  rounds: number
  nodes: number
  learningRate: number
  /** Mean reward of all nodes, one per round. */
  rewards: number[]
  /** Held-out accuracy after the last round, by node. */
  questions?: number
  sampled: number[]
  greedy: number[]
  generatedTokens: number
  trainedTokens: number
  foreignAtEnd: number[]
  verdicts: string[]
  seconds: number
}

const { model, tasks: known } = await loadStart(flags.model)
const difficulty = flags.difficulty === undefined ? undefined : Number(flags.difficulty)
const tasks = known
  .filter(({ name }) => flags.tasks === undefined || flags.tasks.split(',').includes(name))
  .map((task) => (difficulty === undefined ? task : { ...task, difficulty }))
const maxNewTokens = Number(flags['completion-tokens'])
const records = await openRecords<Run>(flags.out)
const engines: Engine[] = []
for (let i = 0; i < Number(flags.nodes); i++)
  engines.push(createLocalEngine({ threads: Number(flags.threads) }))

const isOf = (run: Run): boolean =>
  run.model === flags.model &&
  run.tasks === flags.tasks &&
  run.difficulty === difficulty &&
  run.rounds === rounds &&
  run.nodes === engines.length &&
  run.learningRate === Number(flags['learning-rate'])
const isDone = (mix: string, seed: number): boolean =>
  records.done.some((run) => isOf(run) && run.mix === mix && run.seed === seed)

for (let seed = Number(flags.first); seed < Number(flags.first) + Number(flags.seeds); seed++) {
  for (const { name, own, foreign, adaptive } of MIXES) {
    if (isDone(name, seed) || (flags.mixes && !flags.mixes.split(',').includes(name))) continue
    const started = performance.now()
    const nodes = await Promise.all(
      engines.map((engine, i) =>
        createNode({
          name: `node ${i}`,
          seed: 1000 * seed + i,
          model,
          engine,
          tasks,
          own,
          foreign,
          adaptive,
          learningRate: Number(flags['learning-rate']),
          maxNewTokens,
        }),
      ),
    )
    const rewards: number[] = []
    await runRounds(
      { rounds },
      {
        nodes,
        onRound({ round, reports }) {
          rewards.push(mean(reports.map(({ reward }) => reward)))
          if (round % 20 === 19)
            process.stderr.write(
              `${name} seed ${seed} round ${round + 1}: reward ${mean(rewards.slice(-20)).toFixed(3)}, ${((performance.now() - started) / 1000).toFixed(0)} s\n`,
            )
        },
      },
    )
    const ends = []
    for (const node of nodes) ends.push(await node.evaluate(Number(flags.prompts)))
    await records.add({
      model: flags.model,
      ...(flags.tasks !== undefined && { tasks: flags.tasks }),
      ...(difficulty !== undefined && { difficulty }),
      mix: name,
      seed,
      rounds,
      nodes: nodes.length,
      learningRate: Number(flags['learning-rate']),
      rewards,
      questions: ends[0]!.questions,
      sampled: ends.map(({ sampled }) => sampled),
      greedy: ends.map(({ greedy }) => greedy),
      generatedTokens: nodes.reduce((sum, { compute }) => sum + compute.generated, 0),
      trainedTokens: nodes.reduce((sum, { compute }) => sum + compute.trained, 0),
      foreignAtEnd: nodes.map(({ learner }) => learner.sharing()?.foreign ?? 0),
      verdicts: nodes.map(({ learner }) => learner.sharing()?.verdict ?? 'none'),
      seconds: (performance.now() - started) / 1000,
    })
  }
}
for (const engine of engines) await engine.close()

const chosen = records.done.filter(isOf)
const runsOf = (mix: string): Run[] => chosen.filter((run) => run.mix === mix)
const total = (run: Run): number => run.nodes * run.rewards.reduce((a, b) => a + b, 0)
/** Of the run of another mix with the same seed, percent more; one per run that has one. */
const against = (mix: string, runs: readonly Run[]): string => {
  const gains = runs.flatMap((run) => {
    const other = runsOf(mix).find(({ seed }) => seed === run.seed)
    return other && other !== run ? [(total(run) / total(other) - 1) * 100] : []
  })
  return gains.length > 0 ? `${show(summary(gains), 1)} %` : ''
}
console.log(
  `${thisMachine()}; ${flags.model}, ${tasks.map(({ name, difficulty }) => `${name} ${difficulty}`).join(', ')}, ${rounds} rounds, ${questionsOf(chosen)}`,
)
console.log(
  markdown(
    [
      'I/J',
      'seeds',
      'cumulative reward',
      'against 8/0',
      'against 4/0',
      'reward, last tenth',
      'held-out sampled',
      'greedy',
      'J at the end',
      'tokens sampled, trained (M)',
    ],
    MIXES.filter(({ name }) => runsOf(name).length > 0).map(({ name }) => {
      const runs = runsOf(name)
      const end = Math.ceil(rounds / 10)
      return [
        name,
        String(runs.length),
        show(summary(runs.map(total)), 1),
        against('8/0', runs),
        against('4/0', runs),
        show(summary(runs.map((run) => mean(run.rewards.slice(-end))))),
        show(summary(runs.map((run) => mean(run.sampled)))),
        show(summary(runs.map((run) => mean(run.greedy)))),
        mean(runs.flatMap((run) => run.foreignAtEnd)).toFixed(1),
        `${(mean(runs.map((run) => run.generatedTokens)) / 1e6).toFixed(2)}, ${(mean(runs.map((run) => run.trainedTokens)) / 1e6).toFixed(2)}`,
      ]
    }),
  ),
)
