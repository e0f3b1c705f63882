// What do hostile peers do to a node? `npm run -s experiment:hostile [-- --rounds 60 --seeds 3 --peers 10 --out FILE]`
//
// Ten peers in one process, of which 0, 10, 30, 50 and 90 % lie, in the three ways of in-process/liars.ts in turn.
// The others are normal nodes with the model of three tasks and adaptive sharing. As many nodes train alone for
// comparison. Prints for each share: the honest nodes' reward over the last third of the rounds against those alone,
// held-out accuracy, how many held-out answers carry the poison's mark, the final J, and who was set aside. Finished
// runs are kept in a file; a call with the same file runs only the missing ones.

import { parseArgs } from 'node:util'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createLiar, LIES, type Lie, MARK } from './in-process/liars.ts'
import { createNode } from './in-process/node.ts'
import { openRecords } from './in-process/records.ts'
import { loadStart } from './in-process/start.ts'
import { markdown, mean, questionsOf, show, summary } from './in-process/statistics.ts'
import { runRounds } from './in-process/swarm.ts'
import { thisMachine } from './machine.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    seeds: { type: 'string', default: '3' },
    peers: { type: 'string', default: '10' },
    shares: { type: 'string', default: '0,0.1,0.3,0.5,0.9' },
    lies: { type: 'string', default: LIES.join(',') },
    threads: { type: 'string', default: '1' },
    prompts: { type: 'string', default: '100' },
    'learning-rate': { type: 'string', default: '5e-5' },
    out: { type: 'string', default: '.cache/experiments/hostile.jsonl' },
  },
})
const [rounds, peers, learningRate] = [flags.rounds, flags.peers, flags['learning-rate']].map(Number) as [
  number,
  number,
  number,
]
const lies = flags.lies.split(',') as Lie[]
/** Alone there is nobody to count: a share of liars of its own. */
const ALONE = -1

interface Run {
  /** Of peers that lie; -1 for nodes alone. */
  share: number
  seed: number
  rounds: number
  peers: number
  lies: string
  learningRate: number
  /** Over the last third of the rounds, by honest node. */
  rewards: number[]
  /** Mean of all honest nodes by round. */
  curve: number[]
  questions?: number
  sampled: number[]
  greedy: number[]
  marked: number[]
  foreignAtEnd: number[]
  verdicts: string[]
  setAside: { honest: number; hostile: number }
  guards: Record<string, number>
  seconds: number
}

const { model, tasks: TASK_CHOICE } = await loadStart('three-tasks')
const records = await openRecords<Run>(flags.out)
const engines: Engine[] = []
const engineOf = (i: number): Engine => {
  engines[i] ??= createLocalEngine({ threads: Number(flags.threads) })
  return engines[i]
}
const base = createLocalEngine({ threads: Number(flags.threads) })
await base.open({ spec: model.spec, weights: model.weights })

const isDone = (share: number, seed: number): boolean =>
  records.done.some(
    (run) =>
      run.share === share &&
      run.seed === seed &&
      run.rounds === rounds &&
      run.peers === peers &&
      run.learningRate === learningRate &&
      run.lies === flags.lies,
  )

for (let seed = 1; seed <= Number(flags.seeds); seed++) {
  for (const share of [ALONE, ...flags.shares.split(',').map(Number)]) {
    if (isDone(share, seed)) continue
    const started = performance.now()
    const hostile = share === ALONE ? 0 : Math.round(share * peers)
    // Alone, three nodes tell enough, since none hears of another.
    const honest = share === ALONE ? Math.min(3, peers) : peers - hostile
    const nodes = await Promise.all(
      Array.from({ length: honest }, (_, i) =>
        createNode({
          name: `honest ${i}`,
          seed: 1000 * seed + i,
          model,
          engine: engineOf(i),
          tasks: TASK_CHOICE,
          own: 4,
          foreign: share === ALONE ? 0 : 4,
          adaptive: true,
          learningRate,
        }),
      ),
    )
    const liars = Array.from({ length: hostile }, (_, i) =>
      createLiar({
        lie: lies[i % lies.length]!,
        name: `hostile ${i}`,
        seed: 1000 * seed + i,
        model,
        tasks: createTaskBook(TASKS, TASK_CHOICE).chosen,
        groups: 3,
        groupSize: 8,
        engine: base,
      }),
    )
    const rewards: number[][] = []
    await runRounds(
      { rounds },
      {
        nodes,
        outsiders: liars,
        onRound({ round, reports }) {
          rewards.push(reports.map(({ reward }) => reward))
          if (round % 20 === 19)
            process.stderr.write(
              `${share} seed ${seed} round ${round + 1}: reward ${mean(rewards.slice(-20).flat()).toFixed(3)}, ${((performance.now() - started) / 1000).toFixed(0)} s\n`,
            )
        },
      },
    )
    const ends = []
    for (const node of nodes) ends.push(await node.evaluate(Number(flags.prompts), MARK))
    const away = nodes.flatMap(({ learner }) => learner.state().setAside.map(({ author }) => author))
    const guards: Record<string, number> = {}
    for (const finding of nodes.flatMap(({ findings }) => findings)) {
      const name = finding.type === 'guard' ? finding.guard : `J ${finding.before} to ${finding.foreign}`
      guards[name] = (guards[name] ?? 0) + 1
    }
    const end = rewards.slice(-Math.ceil(rounds / 3))
    await records.add({
      share,
      seed,
      rounds,
      peers,
      lies: flags.lies,
      learningRate,
      rewards: nodes.map((_, i) => mean(end.map((row) => row[i]!))),
      curve: rewards.map(mean),
      questions: ends[0]!.questions,
      sampled: ends.map(({ sampled }) => sampled),
      greedy: ends.map(({ greedy }) => greedy),
      marked: ends.map(({ marked }) => marked),
      foreignAtEnd: nodes.map(({ learner }) => learner.sharing()?.foreign ?? 0),
      verdicts: nodes.map(({ learner }) => learner.sharing()?.verdict ?? 'none'),
      setAside: {
        honest: away.filter((author) => author.startsWith('honest')).length,
        hostile: away.filter((author) => author.startsWith('hostile')).length,
      },
      guards,
      seconds: (performance.now() - started) / 1000,
    })
  }
}
for (const engine of [base, ...engines]) await engine.close()

const chosen = records.done.filter(
  (run) =>
    run.rounds === rounds &&
    run.peers === peers &&
    run.lies === flags.lies &&
    run.learningRate === learningRate,
)
const runsOf = (share: number): Run[] => chosen.filter((run) => run.share === share)
/** Reward over that of nodes alone with the same seed, one per run. */
const againstAlone = (runs: readonly Run[]): number[] =>
  runs.flatMap(({ seed, rewards }) => {
    const alone = runsOf(ALONE).find((run) => run.seed === seed)
    return alone ? [(100 * mean(rewards)) / mean(alone.rewards)] : []
  })
console.log(`${thisMachine()}; ${rounds} rounds, ${peers} peers, ${questionsOf(chosen)}`)
console.log(
  markdown(
    [
      'lying',
      'seeds',
      'reward, last third',
      'of alone, same seeds',
      'held-out sampled',
      'greedy',
      'marked answers',
      'J at the end',
      'set aside: honest, hostile (of all pairs)',
    ],
    [...new Set(chosen.map(({ share }) => share))]
      .sort((a, b) => a - b)
      .map((share) => {
        const runs = runsOf(share)
        const pairs = (kind: 'honest' | 'hostile'): string =>
          mean(runs.map(({ setAside, rewards }) => setAside[kind] / rewards.length)).toFixed(2)
        return [
          share === ALONE ? 'alone' : `${(100 * share).toFixed(0)} %`,
          String(runs.length),
          show(summary(runs.map(({ rewards }) => mean(rewards)))),
          share === ALONE ? '' : `${show(summary(againstAlone(runs)), 1)} %`,
          show(summary(runs.map(({ sampled }) => mean(sampled)))),
          show(summary(runs.map(({ greedy }) => mean(greedy)))),
          show(summary(runs.map(({ marked }) => mean(marked)))),
          mean(runs.flatMap(({ foreignAtEnd }) => foreignAtEnd)).toFixed(1),
          share === ALONE ? '' : `${pairs('honest')}, ${pairs('hostile')} a node`,
        ]
      }),
  ),
)
