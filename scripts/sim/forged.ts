// Honest nodes beside trusted peers whose weights are good at first and forged later, of every kind, at three shares of
// all nodes: what honest nodes can do in the end beside one alone, how low they fall, and for how long.
//
//   npm run -s sim:forged -- --seeds 10
//   npm run -s sim:forged -- --seeds 100 --kinds "all wrong" --shares 50 --seconds 330

import { parseArgs } from 'node:util'
import { FORGED_KINDS, type ForgedKind } from '../../test/sim/actors/forgers.ts'
import { type Course, runForged } from '../../test/sim/forged.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10' },
    from: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '450' },
    kinds: { type: 'string', default: FORGED_KINDS.join() },
    /** Percent of the nodes. */
    shares: { type: 'string', default: '25,50,75' },
    nodes: { type: 'string', default: '4' },
  },
})
const nodesInAll = Number(values.nodes)
const seconds = Number(values.seconds)
const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => Number(values.from) + i)
const mean = (of: readonly number[]): number => of.reduce((a, b) => a + b, 0) / of.length

async function courses(options: { honest: number; liars: number; kind?: ForgedKind }): Promise<Course[]> {
  const all: Course[] = []
  for (const seed of seeds) {
    const { nodes, breaches } = await runForged({ seed, seconds, ...options })
    for (const breach of breaches) console.log(`seed ${seed}: ${breach}`)
    all.push(...nodes)
  }
  return all
}

/** "1.62 ± 0.05 (fall 0.31, 40 s)": the end with its standard error over seeds, and of the worst node how far and how long it fell. */
function cell(all: readonly Course[]): string {
  const perSeed = seeds.map((_, i) => {
    const each = all.length / seeds.length
    return mean(all.slice(i * each, (i + 1) * each).map(({ end }) => end))
  })
  const [middle, count] = [mean(perSeed), perSeed.length]
  const variance = perSeed.reduce((sum, one) => sum + (one - middle) ** 2, 0) / Math.max(1, count - 1)
  const fall = Math.max(...all.map(({ before, least }) => before - least))
  const below = Math.max(...all.map((one) => one.below))
  return `${middle.toFixed(2)} ± ${Math.sqrt(variance / count).toFixed(2)} (fall ${fall.toFixed(2)}, ${below} s)`
}

const started = process.cpuUsage()
if (values.kinds === FORGED_KINDS.join()) {
  console.log(`alone ${cell(await courses({ honest: 1, liars: 0 }))}`)
  console.log(`${nodesInAll} honest ${cell(await courses({ honest: nodesInAll, liars: 0 }))}`)
}
for (const kind of values.kinds.split(',') as ForgedKind[]) {
  const cells: string[] = []
  for (const share of values.shares.split(',').map(Number)) {
    const liars = Math.round((nodesInAll * share) / 100)
    cells.push(cell(await courses({ honest: nodesInAll - liars, liars, kind })))
  }
  console.log(`| ${kind} | ${cells.join(' | ')} |`)
}
const { user, system } = process.cpuUsage(started)
console.log(
  `${seeds.length} seeds, ${seconds} virtual seconds, ${((user + system) / 1e6).toFixed(0)} processor seconds`,
)
