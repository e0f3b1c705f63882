// A founder that trusts nobody but averages the weights of volunteers whose steps it audits: what honest volunteers
// bring it, and how soon one of them is found that says that its steps led elsewhere.
//
//   npm run -s sim:strangers -- --seeds 5
//   npm run -s sim:strangers -- --seeds 20 --kinds "one step of ten, ten times"

import { parseArgs } from 'node:util'
import { AUDIT_SECONDS } from '../../test/sim/audits.ts'
import {
  runStrangers,
  STRANGER_KINDS,
  type StrangerKind,
  type StrangersCourse,
  type StrangersOptions,
} from '../../test/sim/strangers.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '500' },
    volunteers: { type: 'string', default: '2' },
    'audit-seconds': { type: 'string', default: String(AUDIT_SECONDS) },
    /** All, or some alone; an empty text for none. */
    kinds: { type: 'string', default: STRANGER_KINDS.join() },
  },
})
const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1)
const honest = Number(values.volunteers)
const mean = (of: readonly number[]): number => of.reduce((a, b) => a + b, 0) / of.length

async function runs(options: Omit<StrangersOptions, 'seed'>): Promise<StrangersCourse[]> {
  const all: StrangersCourse[] = []
  for (const seed of seeds) {
    const run = await runStrangers({
      ...{ seed, seconds: Number(values.seconds), auditSeconds: Number(values['audit-seconds']) },
      ...options,
    })
    for (const breach of run.breaches) console.log(`seed ${seed}: ${breach}`)
    if (run.accused > 0) console.log(`seed ${seed}: ${run.accused} honest volunteers were accused`)
    all.push(run)
  }
  return all
}

function ends(all: readonly StrangersCourse[]): string {
  const middle = mean(all.map(({ end }) => end))
  const variance = all.reduce((sum, { end }) => sum + (end - middle) ** 2, 0) / Math.max(1, all.length - 1)
  return `${middle.toFixed(2)} ± ${Math.sqrt(variance / all.length).toFixed(2)}`
}

const started = process.cpuUsage()
if (values.kinds === '' || values.kinds === STRANGER_KINDS.join()) {
  console.log(`alone: ${ends(await runs({ honest: 0 }))}`)
  for (const [weights, shares] of [
    ['off', true],
    ['audited', true],
    ['trusted', true],
    ['audited', false],
    ['trusted', false],
  ] as const) {
    const all = await runs({ honest, weights, shares })
    const rungs = all.flatMap((run) => run.rungs)
    const draws = mean(rungs.map(({ passed }) => passed)).toFixed(1)
    const climbed = all.flatMap((run) => run.climbed)
    const when = climbed.length > 0 ? `after ${mean(climbed).toFixed(0)} s` : 'not'
    const cost = (100 * mean(all.map((run) => run.cost))).toFixed(1)
    console.log(
      `${honest} volunteers, weights ${weights}${shares ? '' : ', no rollouts'}: ${ends(all)}, ${draws} draws each, ${climbed.length} of ${rungs.length} counted ${when}, audits took ${cost} %`,
    )
  }
}
const kinds = STRANGER_KINDS.filter((kind) => values.kinds.includes(kind)) as StrangerKind[]
for (const kind of kinds) {
  const all = await runs({ honest: honest - 1, liars: 1, kind })
  const liars = all.flatMap((run) => run.liars)
  const found = liars.filter(({ isFound }) => isFound)
  const most = (of: (one: (typeof found)[number]) => number): string =>
    found.length === 0
      ? '-'
      : `${mean(found.map(of)).toFixed(1)} (most ${Math.round(Math.max(...found.map(of)))})`
  console.log(
    `| ${kind} | ${found.length} of ${liars.length}, ${liars.filter((one) => one.isOff).length} count nothing | ${most((one) => one.forged)} | ${most((one) => one.draws)} | ${most((one) => one.taken)} | ${most((one) => one.seconds)} | ${ends(all)} |`,
  )
}
const { user, system } = process.cpuUsage(started)
console.log(`${seeds.length} seeds, ${((user + system) / 1e6).toFixed(0)} processor seconds`)
