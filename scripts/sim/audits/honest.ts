// Is an honest node ever accused? Steps of a tiny random model, computed by a node and again by others:
//   node --import tsx scripts/sim/audits/honest.ts [seconds=300] [first run=0]
// Each run has sixteen steps of one to five groups, with one or two threads and minibatches. Prints a line an engine: audits,
// those with the same bits, those that failed, and the largest difference in parts of the tolerance.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { createTfjsEngine } from '../../../daemon/engine/tfjs/index.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { timesTolerated } from '../../../daemon/trainer/audit/compare.ts'
import { audit, groupBy, METHOD, peer, play, SELF } from '../../../test/trainer/audit/recorded.ts'
import { createLocalEngine } from '../../lab/nodes/engine.ts'

const [seconds = 300, first = 0] = process.argv.slice(2).map(Number)
const engines: Record<string, Engine> = {
  'one thread': createLocalEngine({ threads: 1 }),
  'two threads': createLocalEngine({ threads: 2 }),
  'three threads': createLocalEngine({ threads: 3 }),
  'four threads': createLocalEngine({ threads: 4 }),
  'micro-batches of 16 tokens': createLocalEngine({ threads: 1, microBatchTokens: 16 }),
  'layers computed again': createLocalEngine({ threads: 1, checkpointing: true }),
  'TensorFlow.js': await createTfjsEngine(),
}
const tally = new Map(Object.keys(engines).map((name) => [name, { audits: 0, same: 0, failed: 0, most: 0 }]))
const AUTHORS = [SELF, SELF, peer(2), peer(3), peer(2)]
const STEPS = 16

const started = performance.now()
let run = first
for (; performance.now() - started < 1000 * seconds; run++) {
  const random = randomStream(run, 'honest')
  const method = { ...METHOD, minibatches: 1 + (run % 2) }
  const offset = 1_000_000 + 10_000 * run
  const recorded = await play({
    ...{ steps: STEPS, threads: 1 + (Math.floor(run / 2) % 2), minibatches: method.minibatches },
    ...{ authors: AUTHORS.slice(0, 1 + Math.floor(5 * random())), maxBytes: 1 << 30 },
    groupOf: (author, seed) => groupBy(author, offset + seed),
  })
  if (recorded.troubles.length > 0) throw recorded.troubles[0]
  for (const [name, engine] of Object.entries(engines)) {
    const count = tally.get(name)!
    for (let step = 0; step < STEPS; step++) {
      const verdict = await audit(recorded, step, { engine, method, claimed: method })
      count.audits++
      if (verdict.outcome === 'passed' && verdict.isSame) count.same++
      if (verdict.outcome === 'failed') count.failed++
      else if (verdict.outcome !== 'passed') throw new Error(JSON.stringify(verdict))
      if ('difference' in verdict && verdict.difference)
        count.most = Math.max(count.most, timesTolerated(verdict.difference))
      if (verdict.outcome === 'failed') console.log(`run ${run}, step ${step}, ${name}: ${verdict.what}`)
    }
  }
  await recorded.engine.close()
}
for (const [name, { audits, same, failed, most }] of tally)
  console.log(
    `${name}: ${audits} audits, ${same} same bits, ${failed} failed, at most ${most.toExponential(1)} of the tolerance`,
  )
const [audits, failed] = [...tally.values()].reduce(([a, f], one) => [a + one.audits, f + one.failed], [0, 0])
console.log(
  `${audits} audits of ${STEPS * (run - first)} steps, ${failed} failed; 3/n = ${(3 / audits).toExponential(1)}`,
)
for (const engine of Object.values(engines)) await engine.close()
