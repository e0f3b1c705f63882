// How do attacks affect honest traffic? node --import tsx scripts/bench/swarm/attack.ts [mode ...] One victim, ten
// honest nodes that together publish 50 groups a second, and a raw attacker in its own process (attacker.ts). For
// each attack it prints the delay and delivery of honest groups during it, what happened to the attacker, and memory.

import { fork } from 'node:child_process'
import { Child, type Of, quantile, round, sleep } from './processes/parent.ts'

const HONEST = 10
const PER_SECOND = 50
const SECONDS = 6
/** mode -> [per second, identities] */
const ATTACKS: Record<string, [number, number]> = {
  none: [0, 0],
  valid: [10_000, 1],
  invalid: [10_000, 1],
  malformed: [10_000, 1],
  nested: [500, 1],
  large: [50, 1],
  oversize: [1, 1],
  replay: [10_000, 1],
  ihave: [20, 1],
  iwant: [20, 1],
  idontwant: [200, 1],
  prune: [1000, 1],
  topics: [10_000, 1],
  sybil: [40, 25],
  crowd: [5, 200],
}

interface Outcome {
  sent: number
  cutAfterMs?: number
  cut: number
  refused: number
}

async function run(mode: string): Promise<void> {
  const [rate, identities] = ATTACKS[mode]!
  const victim = new Child()
  const honest = new Child({ many: true })
  const { address } = await victim.start(0)
  for (let node = 1; node <= HONEST; node++) {
    // What they receive is dropped before it is verified: all in one process, they would be the slowest part.
    await honest.start(node, { maxCompletionTokens: 1 })
    await honest.ask({ do: 'join', node, target: address }, 'joined')
  }
  await sleep(2500)
  const sent = new Map<number, number>()
  const arrived = new Map<number, number>()
  honest.on((report) => {
    if (report.kind === 'published') sent.set(report.seed, report.at)
  })
  const ours = new Set<number>()
  victim.on((report) => {
    if (report.kind === 'group' && ours.has(report.seed)) arrived.set(report.seed, report.at)
  })
  const before = await victim.ask({ do: 'report', node: 0 }, 'report')
  await honest.ask({ do: 'report', node: 1 }, 'report')
  const attacker = rate > 0 ? attack(address, mode, rate, identities) : undefined
  await attacker?.ready
  await sleep(1000)
  setTimeout(() => attacker?.go(), 1000)
  for (let i = 0; i < PER_SECOND * SECONDS; i++) {
    const seed = 1_000_000 + i
    ours.add(seed)
    honest.tell({ do: 'publish', node: 1 + (i % HONEST), seed, bytes: 3000 })
    await sleep(1000 / PER_SECOND)
  }
  const outcome = await attacker?.outcome
  await sleep(2000)
  const after = await victim.ask({ do: 'report', node: 0 }, 'report')
  const theirs = await honest.ask({ do: 'report', node: 1 }, 'report')
  report(
    mode,
    [...sent].map(([seed, at]) => (arrived.get(seed) ?? Number.NaN) - at),
    before,
    after,
    theirs,
    outcome,
  )
  await victim.kill()
  await honest.kill()
}

function attack(address: string, mode: string, rate: number, identities: number) {
  const file = new URL('processes/attacker.ts', import.meta.url).pathname
  const args = [
    address,
    mode === 'sybil' || mode === 'crowd' ? 'valid' : mode,
    String(rate),
    String(SECONDS),
    String(identities),
  ]
  const child = fork(file, args, {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const messages: unknown[] = []
  const until = (holds: () => boolean) =>
    new Promise<void>((resolve) => {
      child.on('exit', () => resolve())
      child.on('message', () => holds() && resolve())
    })
  child.on('message', (message) => messages.push(message))
  const ready = until(() => messages.length > 0)
  const outcome = until(() => messages.length > 1).then(() => messages[1] as Outcome | undefined)
  return { outcome, ready, go: () => child.send('go') }
}

function report(
  mode: string,
  delays: number[],
  before: Of<'report'>,
  after: Of<'report'>,
  theirs: Of<'report'>,
  outcome?: Outcome,
): void {
  const there = delays.filter((delay) => !Number.isNaN(delay))
  const counters = after.counters as { verified: number; received: number; refused: Record<string, number> }
  console.log(
    `${mode.padEnd(10)} honest ${there.length}/${delays.length}, p50 ${round(quantile(there, 0.5))} p99 ${round(quantile(there, 0.99))} ms;`,
    `event loop late p99 ${round(after.lateMs[0])}, most ${round(after.lateMs[1])} ms (the honest ones’ ${round(theirs.lateMs[0])}, ${round(theirs.lateMs[1])}), CPU ${round(after.cpuMs - before.cpuMs, 0)} ms;`,
    `RSS ${round((after.rss - before.rss) / 1e6, 0)} MB more;`,
    outcome
      ? `attacker: ${outcome.sent} sent, ${outcome.cut} cut off${outcome.cutAfterMs === undefined ? '' : ` after ${round(outcome.cutAfterMs / 1000, 2)} s`}, ${outcome.refused} refused when they came back;`
      : '',
    `${counters.received - there.length} of its groups looked at; refused ${JSON.stringify(counters.refused)}`,
  )
}

const modes = process.argv.slice(2)
for (const mode of modes.length > 0 ? modes : Object.keys(ATTACKS)) await run(mode)
process.exit(0)
