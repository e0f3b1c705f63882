// When does a node know whether sharing helps, and how does it react?
// `npm run -s experiment:verdict [-- --rounds 150 --seeds 3 --arms 'alone;honest;liars' --out FILE]`
//
// One node with a daemon's usual batch: 16 own groups and up to 16 foreign ones per step, learning rate 1e-4,
// adaptive. Arms: alone; with an honest peer; with three peers that lie (in-process/liars.ts), each in its own way.
// Records for each round the reward, what the screen would say (verdict, effect, interval), J, and the weights of
// peers. Prints the reward over the last third against alone with the same seed, the rounds of the first verdict and
// of J = 0, and J and the weight over the last third. Finished runs are kept.

import { parseArgs } from 'node:util'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { SharingVerdict } from '../../protocol/api/index.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createLiar, LIES } from './in-process/liars.ts'
import { createNode } from './in-process/node.ts'
import { openRecords } from './in-process/records.ts'
import { loadStart } from './in-process/start.ts'
import { markdown, mean, questionsOf, show, summary } from './in-process/statistics.ts'
import { runRounds } from './in-process/swarm.ts'
import { thisMachine } from './machine.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '150' },
    seeds: { type: 'string', default: '3' },
    first: { type: 'string', default: '1' },
    /** Separated by semicolons. */
    arms: { type: 'string', default: 'alone;honest;liars' },
    groups: { type: 'string', default: '16' },
    prompts: { type: 'string', default: '200' },
    'learning-rate': { type: 'string', default: '1e-4' },
    out: { type: 'string', default: '.cache/experiments/verdict.jsonl' },
  },
})
const [rounds, groups, learningRate] = [flags.rounds, flags.groups, flags['learning-rate']].map(Number) as [
  number,
  number,
  number,
]

interface Look {
  reward: number
  verdict: SharingVerdict
  effect?: number
  low?: number
  high?: number
  foreign: number
  weight: number
}

interface Run {
  arm: string
  seed: number
  rounds: number
  groups: number
  learningRate: number
  looks: Look[]
  questions?: number
  sampled: number
  greedy: number
  /** Times that a peer was set aside. */
  setAside: number
  seconds: number
}

const { model, tasks } = await loadStart('three-tasks')
const records = await openRecords<Run>(flags.out)
const engines = [createLocalEngine({ threads: 1 }), createLocalEngine({ threads: 1 })] as const
const base = createLocalEngine({ threads: 1 })
await base.open({ spec: model.spec, weights: model.weights })
const isOf = (run: Run): boolean =>
  run.rounds === rounds && run.groups === groups && run.learningRate === learningRate

const follow = async (arm: string, seed: number): Promise<void> => {
  if (records.done.some((run) => isOf(run) && run.arm === arm && run.seed === seed)) return
  const started = performance.now()
  const nodes = await Promise.all(
    engines.slice(0, arm === 'honest' ? 2 : 1).map((engine, i) =>
      createNode({
        name: `honest ${i}`,
        seed: 1000 * seed + i,
        model,
        engine,
        tasks,
        own: groups,
        foreign: arm === 'alone' ? 0 : groups,
        adaptive: true,
        learningRate,
      }),
    ),
  )
  const outsiders =
    arm === 'liars'
      ? LIES.map((lie, i) =>
          createLiar({
            lie,
            name: `hostile ${i}`,
            seed: 1000 * seed + i,
            model,
            tasks: createTaskBook(TASKS, tasks).chosen,
            groups: 6,
            groupSize: 8,
            engine: base,
          }),
        )
      : []
  const node = nodes[0]!
  const looks: Look[] = []
  await runRounds(
    { rounds },
    {
      nodes,
      outsiders,
      onRound({ reports }) {
        const sharing = node.learner.sharing()
        looks.push({
          reward: reports[0]!.reward,
          verdict: sharing?.verdict ?? 'not yet known',
          ...(sharing?.effect !== undefined && { effect: sharing.effect }),
          ...(sharing?.low !== undefined && { low: sharing.low }),
          ...(sharing?.high !== undefined && { high: sharing.high }),
          foreign: sharing?.foreign ?? 0,
          weight: sharing?.weight ?? 0,
        })
      },
    },
  )
  const { questions, sampled, greedy } = await node.evaluate(Number(flags.prompts))
  const setAside = node.findings.filter(
    (finding) => finding.type === 'guard' && finding.guard === 'set aside',
  ).length
  const seconds = (performance.now() - started) / 1000
  await records.add({
    arm,
    seed,
    rounds,
    groups,
    learningRate,
    looks,
    questions,
    sampled,
    greedy,
    setAside,
    seconds,
  })
  process.stderr.write(`${arm} seed ${seed}: sampled ${sampled.toFixed(3)}, ${seconds.toFixed(0)} s\n`)
}

const arms = flags.arms.split(';')
// By seed first, so that what is there after a while compares all arms.
for (let seed = Number(flags.first); seed < Number(flags.first) + Number(flags.seeds); seed++)
  for (const arm of arms) await follow(arm, seed)
for (const engine of [base, ...engines]) await engine.close()

const all = records.done.filter(isOf)
const end = (run: Run): Look[] => run.looks.slice(-Math.ceil(rounds / 3))
const endReward = (run: Run): number => mean(end(run).map(({ reward }) => reward))
/** Rounds from 1; a dash where it did not come. */
const roundOf = (run: Run, is: (look: Look) => boolean): string => {
  const at = run.looks.findIndex(is)
  return at < 0 ? '-' : String(at + 1)
}
console.log(
  `${thisMachine()}; ${rounds} rounds, ${groups}/${groups} groups, learning rate ${learningRate}, ${questionsOf(all)}`,
)
console.log(
  markdown(
    [
      'peers',
      'reward, last third',
      'of alone, same seeds',
      'held-out sampled',
      'greedy',
      'first verdict, by seed',
      'J is 0 from round',
      'J, last third',
      'weight, last third',
      'set aside',
    ],
    arms.map((arm) => {
      const runs = all.filter((run) => run.arm === arm)
      const shares = runs.flatMap((run) => {
        const alone = all.find((other) => other.arm === 'alone' && other.seed === run.seed)
        return alone ? [(100 * endReward(run)) / endReward(alone)] : []
      })
      const verdicts = runs.map((run) => {
        const first = run.looks.find(({ verdict }) => verdict !== 'not yet known')
        return first ? `${first.verdict} (${roundOf(run, (look) => look === first)})` : '-'
      })
      return [
        arm,
        show(summary(runs.map(endReward))),
        arm === 'alone' ? '' : `${show(summary(shares), 1)} %`,
        show(summary(runs.map(({ sampled }) => sampled))),
        show(summary(runs.map(({ greedy }) => greedy))),
        arm === 'alone' ? '' : verdicts.join(', '),
        arm === 'alone'
          ? ''
          : runs
              .map((run) =>
                roundOf(run, ({ foreign, verdict }) => foreign === 0 && verdict !== 'not yet known'),
              )
              .join(', '),
        arm === 'alone' ? '' : mean(runs.flatMap(end).map(({ foreign }) => foreign)).toFixed(1),
        arm === 'alone' ? '' : mean(runs.flatMap(end).map(({ weight }) => weight)).toFixed(2),
        mean(runs.map((run) => run.setAside)).toFixed(1),
      ]
    }),
  ),
)
