// For how long do honest peers take each other for twins? `npm run -s experiment:drift [-- --seeds 1 --rounds 480 --out FILE]`
//
// Two nodes with the model of three tasks share for many rounds on small batches, whose noise drives policies apart. Kept
// of each run: who was taken for what while it ran, and the tokens of every update by bin, so that the test as it is
// now can be applied to them. Once a node has stopped learning from the other, they drift faster: what
// comes after that point is the worse case.

import { parseArgs } from 'node:util'
import {
  calibrated,
  isUnlike,
  type Likeness,
  oddsOf,
  reviewed,
  uncalibrated,
  untested,
} from '../../daemon/trainer/sharing/typicality.ts'
import { evidenceOf } from '../../daemon/trainer/watch.ts'
import { openRecords } from '../lab/frame/records.ts'
import { markdown } from '../lab/frame/statistics.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createNode } from './in-process/node.ts'
import { loadStart } from './in-process/start.ts'
import { runRounds } from './in-process/swarm.ts'
import { thisMachine } from './machine.ts'

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '480' },
    groups: { type: 'string', default: '2' },
    rate: { type: 'string', default: '1e-4' },
    out: { type: 'string', default: 'docs/results/drift.jsonl' },
  },
})
const [rounds, groups, rate] = [flags.rounds, flags.groups, flags.rate].map(Number) as [
  number,
  number,
  number,
]

interface Run {
  seed: number
  rounds: number
  /** Own groups in a batch, and foreign ones. */
  groups: number
  rate: number
  /** By node, each update: the round, own and foreign tokens by bin, and what the peer was taken for. */
  nodes: { round: number; own: number[]; foreign?: number[]; weight?: number; as: Likeness }[][]
  seconds: number
}

const { model, tasks } = await loadStart('three-tasks')
const records = await openRecords<Run>(flags.out)
const isSame = (run: Run): boolean => run.rounds === rounds && run.groups === groups && run.rate === rate
const engines = [0, 1].map(() => createLocalEngine({ threads: 1 }))
for (const seed of flags.seeds.split(',').map(Number))
  if (!records.done.some((run) => isSame(run) && run.seed === seed)) await records.add(await play(seed))
for (const engine of engines) await engine.close()

async function play(seed: number): Promise<Run> {
  const started = performance.now()
  const nodes = await Promise.all(
    engines.map((engine, i) =>
      createNode({
        ...{ name: `node ${i}`, seed: 1000 * seed + i, model, engine, tasks },
        ...{ own: groups, foreign: groups, adaptive: false, learningRate: rate },
      }),
    ),
  )
  const seen: Run['nodes'] = nodes.map(() => [])
  await runRounds(
    { rounds },
    {
      nodes,
      onRound({ round, reports }) {
        reports.forEach(({ step }, i) => {
          const of = (isOwn: boolean) =>
            step?.parts.filter(({ author }) => (author === undefined) === isOwn).map(evidenceOf)[0]
          const [own, foreign] = [of(true), of(false)]
          const as = nodes[i]!.learner.sharing()?.contributors[0]?.likeness ?? 'unknown'
          seen[i]!.push({
            round,
            own: [...(own?.counts ?? [])],
            ...(foreign && { foreign: [...foreign.counts] }),
            ...(foreign?.weight !== undefined && { weight: foreign.weight }),
            as,
          })
        })
      },
    },
  )
  return { seed, rounds, groups, rate, nodes: seen, seconds: (performance.now() - started) / 1000 }
}

/** First rounds of each verdict, and how many updates' groups were unlike by themselves. */
function verdicts(updates: Run['nodes'][number], test: 'then' | 'now') {
  let [calibration, state, unlike, tested] = [uncalibrated(), untested(), 0, 0]
  const changes: string[] = []
  let last: Likeness = 'unknown'
  for (const { round, own, foreign, weight, as } of updates) {
    calibration = calibrated(calibration, own)
    if (foreign) {
      const odds = oddsOf(calibration)
      const evidence = { counts: foreign, weight }
      tested += 1
      if (isUnlike(evidence, odds)) unlike += 1
      state = reviewed(state, evidence, odds)
    }
    const now = test === 'then' ? as : state.likeness
    if (now !== last) changes.push(`${round} ${now}`)
    last = now
  }
  return { changes, unlike: `${unlike} of ${tested}` }
}

console.log(
  `${thisMachine()}; ${rounds} rounds, ${groups} own and ${groups} foreign groups, learning rate ${rate}`,
)
console.log(
  markdown(
    ['seed', 'node', 'while it ran: from round', 'by the present test: from round', 'updates left out'],
    records.done.filter(isSame).flatMap((run) =>
      run.nodes.map((updates, i) => {
        const now = verdicts(updates, 'now')
        const then = verdicts(updates, 'then')
        return [`${run.seed}`, `${i}`, then.changes.join(', '), now.changes.join(', '), now.unlike]
      }),
    ),
  ),
)
