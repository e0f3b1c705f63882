// Runs seeds of chaos and says which broke an invariant.
//
//   npm run -s sim                         100 seeds from 1
//   npm run -s sim -- --from 1 --count 500
//   npm run -s sim -- --chaos 60 --heal 0   shorter, and only what is unsafe
//   npm run -s sim -- --record night.jsonl --count 5000    a night: one line for each seed; those in the file are skipped
//   SEED=17 npm run -s sim                 one seed, with its trace

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type ChaosReport, runChaos } from '../../test/sim/chaos.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    /** Virtual seconds of chaos and of healing. */
    chaos: { type: 'string', default: '120' },
    heal: { type: 'string', default: '60' },
    record: { type: 'string' },
  },
})
const spans = { chaosSeconds: Number(values.chaos), healSeconds: Number(values.heal) }

/** A line of the record. */
interface Outcome extends Pick<ChaosReport, 'seed' | 'breaches' | 'trace' | 'events' | 'tally'> {
  chaosSeconds: number
  healSeconds: number
  cpuSeconds: number
}

if (process.env.SEED) {
  const report = await runChaos({ seed: Number(process.env.SEED), ...spans, isVerbose: true })
  for (const line of report.lines) console.log(line)
  const { lines: _, ...facts } = report
  console.log(JSON.stringify(facts, null, 2))
} else {
  const before = values.record === undefined ? [] : recorded(values.record)
  const [from, count] = [Number(values.from), Number(values.count)]
  const all: Outcome[] = []
  for (let seed = from; seed < from + count; seed++) {
    const done = before.find((one) => one.seed === seed)
    all.push(done ?? (await play(seed)))
  }
  const broken = all.filter(({ breaches }) => breaches.length > 0)
  const cpuSeconds = sum(all.map((one) => one.cpuSeconds))
  console.log(
    JSON.stringify({
      ...{ from, count, ...spans, broken: broken.map(({ seed }) => seed) },
      events: sum(all.map((one) => one.events)),
      cpuSeconds: Math.round(cpuSeconds),
      seedsPerCpuMinute: Number(((60 * all.length) / cpuSeconds).toFixed(1)),
      ...Object.fromEntries(
        (['lives', 'steps', 'saves', 'foreign', 'admitted'] as const).map((what) => [
          what,
          sum(all.map(({ tally }) => tally[what])),
        ]),
      ),
    }),
  )
  process.exitCode = broken.length > 0 ? 1 : 0
}

async function play(seed: number): Promise<Outcome> {
  const started = process.cpuUsage()
  const { breaches, trace, events, tally, actors, faults } = await runChaos({ seed, ...spans })
  const { user, system } = process.cpuUsage(started)
  if (breaches.length > 0) {
    console.log(`seed ${seed} (${actors.join(', ') || 'nobody hostile'}; ${faults.join(', ')})`)
    for (const breach of breaches) console.log(`  ${breach}`)
  }
  const outcome = { seed, ...spans, breaches, trace, events, cpuSeconds: (user + system) / 1e6, tally }
  if (values.record !== undefined) appendFileSync(values.record, `${JSON.stringify(outcome)}\n`)
  return outcome
}

/** Seeds that were played with the same spans. */
function recorded(path: string): Outcome[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines
    .map((line): Outcome => JSON.parse(line))
    .filter((one) => one.chaosSeconds === spans.chaosSeconds && one.healSeconds === spans.healSeconds)
}

function sum(values: readonly number[]): number {
  return values.reduce((so, value) => so + value, 0)
}
