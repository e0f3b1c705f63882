// Does gossip deliver? node --import tsx scripts/bench/swarm/delivery.ts [nodes=16] [bytes=10000] [perSecond=2]
// [seconds=60] All nodes run on this machine in four processes. Prints how many (group, node) pairs arrived, how
// fast, and in how many copies.

import { Child, type Of, quantile, round, sleep } from './processes/parent.ts'

const [count = 16, bytes = 10_000, perSecond = 2, seconds = 60] = process.argv.slice(2).map(Number)
const PROCESSES = Math.min(4, count)
const children = Array.from({ length: PROCESSES }, () => new Child({ many: true }))
const of = (node: number) => children[node % PROCESSES]!

const first = await of(0).start(0)
for (let node = 1; node < count; node++) {
  await of(node).start(node)
  await of(node).ask({ do: 'join', node, target: first.address }, 'joined')
}
await sleep(5000)

const sent = new Map<number, number>()
const delays: number[] = []
let payload = 0
let pairs = 0
const published = ({ seed, at, bytes }: Of<'published'>) => {
  sent.set(seed, at)
  payload += bytes
}
const arrivals: Array<Of<'group'>> = []
for (const child of children)
  child.on((report) => {
    if (report.kind === 'published') published(report)
    if (report.kind === 'group') arrivals.push(report)
  })

const before = await reports()
const total = Math.round(perSecond * seconds)
for (let i = 0; i < total; i++) {
  of(i % count).tell({ do: 'publish', node: i % count, seed: i + 1, bytes })
  await sleep(1000 / perSecond)
}
await sleep(5000)
const after = await reports()

for (const { seed, at } of arrivals) {
  const from = sent.get(seed)
  if (from === undefined) continue
  pairs++
  delays.push(at - from)
}
const expected = sent.size * (count - 1)
const received =
  sum(after, (r) => (r.counters as { bytesIn: number }).bytesIn) -
  sum(before, (r) => (r.counters as { bytesIn: number }).bytesIn)
console.log(
  `${count} nodes, ${sent.size} groups of ${round(payload / sent.size, 0)} bytes at ${perSecond}/s in total`,
)
console.log(`delivered ${pairs} of ${expected} (group, node) pairs: ${round((100 * pairs) / expected, 2)} %`)
console.log(
  `delay p50 ${round(quantile(delays, 0.5))} ms, p99 ${round(quantile(delays, 0.99))} ms, worst ${round(Math.max(...delays))} ms (verification included)`,
)
console.log(`bytes received / unique payload: ${round(received / (payload * (count - 1)), 2)}`)
const cpu = sumProcesses(after, (r) => r.cpuMs) - sumProcesses(before, (r) => r.cpuMs)
console.log(
  `CPU ${round(cpu / (seconds * 10 + 50), 1)} % of a core in all, worst process ${round(Math.max(...after.map((r) => r.rss)) / 1e6, 0)} MB`,
)
for (const child of children) await child.kill()

async function reports(): Promise<Array<Of<'report'>>> {
  const all: Array<Of<'report'>> = []
  for (let node = 0; node < count; node++) all.push(await of(node).ask({ do: 'report', node }, 'report'))
  return all
}
function sum(all: Array<Of<'report'>>, of: (report: Of<'report'>) => number): number {
  return all.reduce((total, report) => total + of(report), 0)
}
function sumProcesses(all: Array<Of<'report'>>, of: (report: Of<'report'>) => number): number {
  return sum(all.slice(-PROCESSES), of)
}
