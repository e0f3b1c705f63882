// Is an honest node ever accused? Steps of a tiny random model, computed by one engine and again by others:
//   node --import tsx scripts/sim/audits/honest.ts [audits=1000] [first run=0] [record]
// A run has sixteen steps, all by one engine that is drawn, of one own group, or in every twentieth run of up to five
// groups with peers' among them; each step is audited by three others of the engines, drawn. Prints a line a minute and
// one at the end, which it also appends to the record: of each engine audits, those with the same bits, those that
// failed, and the largest difference in parts of the tolerance. SIGTERM ends it after a run. No two runs are alike, so
// a record goes on with the next.

import { appendFileSync } from 'node:fs'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { createTfjsEngine } from '../../../daemon/engine/tfjs/index.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { timesTolerated } from '../../../daemon/trainer/audit/compare.ts'
import {
  audit,
  groupBy,
  METHOD,
  openPlugins,
  peer,
  play,
  type Recorded,
  SELF,
} from '../../../test/trainer/audit/recorded.ts'
import { createLocalEngine } from '../../lab/nodes/engine.ts'

const [most = 1000, first = 0] = process.argv.slice(2, 4).map(Number)
const record = process.argv[4]
const [STEPS, AUDITORS, TOLD_MS] = [16, 3, 60_000]
const AUTHORS = [SELF, SELF, peer(2), peer(3), peer(2)]

/** How often each is drawn: dear ones seldom. */
const ENGINES: Record<string, { often: number; engine: Engine }> = {
  'one thread': { often: 1, engine: createLocalEngine({ threads: 1 }) },
  'two threads': { often: 1, engine: createLocalEngine({ threads: 2 }) },
  'three threads': { often: 0.3, engine: createLocalEngine({ threads: 3 }) },
  'four threads': { often: 0.3, engine: createLocalEngine({ threads: 4 }) },
  ...Object.fromEntries(
    [8, 16, 24, 48].map((tokens) => [
      `micro-batches of ${tokens} tokens`,
      { often: tokens < 16 ? 0.3 : 1, engine: createLocalEngine({ threads: 1, microBatchTokens: tokens }) },
    ]),
  ),
  'layers computed again': { often: 1, engine: createLocalEngine({ threads: 1, checkpointing: true }) },
  'TensorFlow.js': { often: 0.02, engine: await createTfjsEngine() },
}
const plugins = await openPlugins()
const tally = new Map(
  Object.keys(ENGINES).map((name) => [name, { audits: 0, same: 0, failed: 0, most: 0, steps: 0 }]),
)
const sum = (of: 'audits' | 'failed' | 'steps'): number =>
  [...tally.values()].reduce((total, one) => total + one[of], 0)

/** So many different ones. */
function drawn(count: number, random: () => number): string[] {
  const keys = Object.entries(ENGINES).map(([name, { often }]) => [name, random() ** (1 / often)] as const)
  return keys
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name]) => name)
}

async function judge(run: number, recorded: Recorded, step: number, name: string): Promise<void> {
  const method = { ...METHOD, minibatches: 1 + (run % 2) }
  const { engine } = ENGINES[name]!
  const verdict = await audit(recorded, step, { engine, plugins, method, claimed: method })
  if (verdict.outcome !== 'passed' && verdict.outcome !== 'failed') throw new Error(JSON.stringify(verdict))
  const count = tally.get(name)!
  count.audits++
  if (verdict.outcome === 'failed') {
    count.failed++
    console.log(`run ${run}, step ${step}, ${name}: ${verdict.what}`)
  } else if (verdict.isSame) count.same++
  if (verdict.difference) count.most = Math.max(count.most, timesTolerated(verdict.difference))
}

async function play16(run: number): Promise<void> {
  const random = randomStream(run, 'honest')
  const [recorder] = drawn(1, random) as [string]
  const recorded = await play({
    ...{ steps: STEPS, minibatches: 1 + (run % 2), engine: ENGINES[recorder]!.engine, maxBytes: 1 << 30 },
    authors: AUTHORS.slice(0, run % 20 === 0 ? 1 + Math.floor(5 * random()) : 1),
    groupOf: (author, seed) => groupBy(author, 1_000_000 + 10_000 * run + seed),
  })
  if (recorded.troubles.length > 0) throw recorded.troubles[0]
  tally.get(recorder)!.steps += STEPS
  for (let step = 0; step < STEPS; step++)
    for (const name of drawn(AUDITORS, random)) await judge(run, recorded, step, name)
}

const told = (runs: number): string => {
  const engines = Object.fromEntries(
    [...tally].map(([name, { most: times, ...counts }]) => [
      name,
      { ...counts, most: Number(times.toPrecision(2)) },
    ]),
  )
  return JSON.stringify({
    ...{ first, runs, steps: sum('steps'), audits: sum('audits'), failed: sum('failed') },
    engines,
  })
}

let isEnding = false
process.once('SIGTERM', () => {
  isEnding = true
})
const started = performance.now()
let [run, at] = [first, started]
for (; sum('audits') < most && !isEnding; run++) {
  await play16(run)
  if (performance.now() - at < TOLD_MS) continue
  at = performance.now()
  const rate = sum('audits') / ((at - started) / 1000)
  console.log(
    `${((100 * sum('audits')) / most).toFixed(1)} %, ${rate.toFixed(0)} a second: ${told(run + 1 - first)}`,
  )
}
console.log(told(run - first))
console.log(`${sum('failed')} failed; 3/n = ${(3 / sum('audits')).toExponential(1)}`)
if (record) appendFileSync(record, `${told(run - first)}\n`)
await plugins.close()
for (const { engine } of Object.values(ENGINES)) await engine.close()
