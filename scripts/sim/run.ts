// Runs seeds of chaos and says which broke an invariant.
//
//   npm run -s sim                         100 seeds from 1
//   npm run -s sim -- --from 1 --count 500
//   npm run -s sim -- --chaos 60 --heal 0   shorter, and only what is unsafe
//   SEED=17 npm run -s sim                 one seed, with its trace

import { parseArgs } from 'node:util'
import { runChaos } from '../../test/sim/chaos.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    /** Virtual seconds of chaos and of healing. */
    chaos: { type: 'string', default: '120' },
    heal: { type: 'string', default: '60' },
  },
})

const spans = { chaosSeconds: Number(values.chaos), healSeconds: Number(values.heal) }
const started = performance.now()
if (process.env.SEED) {
  const report = await runChaos({ seed: Number(process.env.SEED), ...spans, isVerbose: true })
  for (const line of report.lines) console.log(line)
  const { lines: _, ...facts } = report
  console.log(JSON.stringify(facts, null, 2))
} else {
  const [from, count] = [Number(values.from), Number(values.count)]
  const totals: Record<string, number> = {}
  let [broken, virtual, events] = [0, 0, 0]
  for (let seed = from; seed < from + count; seed++) {
    const {
      breaches,
      tally,
      faults,
      actors,
      virtualSeconds,
      events: happened,
    } = await runChaos({
      seed,
      ...spans,
    })
    virtual += virtualSeconds
    events += happened
    for (const [what, many] of Object.entries(tally)) totals[what] = (totals[what] ?? 0) + many
    if (breaches.length === 0) continue
    broken++
    console.log(`seed ${seed} (${actors.join(', ') || 'nobody hostile'}; ${faults.join(', ')})`)
    for (const breach of breaches) console.log(`  ${breach}`)
  }
  const seconds = (performance.now() - started) / 1000
  console.log(
    JSON.stringify({
      ...{ from, count, ...spans, broken, seconds: Math.round(seconds), events },
      virtualHours: Number((virtual / 3600).toFixed(1)),
      timesRealTime: Math.round(virtual / seconds),
      ...totals,
    }),
  )
  process.exitCode = broken > 0 ? 1 : 0
}
