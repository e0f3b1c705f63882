// Eight nodes for a day: the daemon's core, loops, database and exchange, with mild faults. A node dies every ten
// minutes and comes back; links lose and delay. Prints every hour how much memory is in use after garbage collection.
//
//   npm run -s sim:day -- --hours 24 --slowness 6

import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Truth } from '../../test/sim/checks.ts'
import { createNet, FAIR } from '../../test/sim/net.ts'
import { createHonestNode } from '../../test/sim/node/node.ts'
import { createWorld } from '../../test/sim/world.ts'

const { values } = parseArgs({
  options: {
    hours: { type: 'string', default: '24' },
    /** Minutes between two lines. */
    every: { type: 'string', default: '60' },
    nodes: { type: 'string', default: '8' },
    /** Work takes so many times as long: fewer steps an hour, and a day costs less. */
    slowness: { type: 'string', default: '6' },
    seed: { type: 'string', default: '1' },
  },
})
const EVERY_MS = 60_000 * Number(values.every)
const DEATH_EVERY_MS = 600_000
const WEATHER_EVERY_MS = 60_000

const world = createWorld({ seed: `day ${values.seed}` })
const random = world.random('day')
const net = createNet({ world, random: world.random('net') })
const truth: Truth = { honest: new Set(), wrote: new Map(), heads: new Map() }
let rejections = 0
process.on('unhandledRejection', () => rejections++)

const nodes = Array.from({ length: Number(values.nodes) }, (_, i) =>
  createHonestNode({ name: `n${i}`, signatures: 'stand-in' }, { world, net, truth }),
)
const byId = new Map(nodes.map((node) => [node.id, node]))
net.admit((_, to) => byId.get(to)?.living !== undefined)
for (const node of nodes) {
  node.weather.slowness = Number(values.slowness)
  node.boot()
}

const inMebibytes = (bytes: number): number => Number((bytes / 2 ** 20).toFixed(2))

function dial(): void {
  for (const [i, a] of nodes.entries()) for (const b of nodes.slice(i + 1)) net.connect(a.id, b.id)
  world.after(3000, dial)
}
function churn(): void {
  const node = random.pick(nodes)
  node.kill(random.chance(0.5))
  world.after(random.between(1000, 60_000), () => node.boot())
  world.after(DEATH_EVERY_MS * random.between(0.5, 1.5), churn)
}
function blow(): void {
  const [a, b] = random.shuffled(nodes)
  const bad = { ...FAIR, drop: random.between(0, 0.2), delay: { least: 5, most: random.between(60, 1000) } }
  net.setWeather(a!.id, b!.id, bad)
  world.after(WEATHER_EVERY_MS, () => net.setWeather(a!.id, b!.id, FAIR))
  world.after(WEATHER_EVERY_MS * random.between(0.5, 1.5), blow)
}
dial()
world.after(DEATH_EVERY_MS, churn)
blow()

const begun = process.cpuUsage()
for (let line = 1; line * EVERY_MS <= Number(values.hours) * 3_600_000; line++) {
  await world.run(line * EVERY_MS)
  // Buffers are freed some time after what held them.
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    await sleep(200)
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  const { user, system } = process.cpuUsage(begun)
  const sum = (what: 'lives' | 'steps' | 'foreign'): number =>
    nodes.reduce((so, { checks }) => so + checks.tally[what], 0)
  console.log(
    JSON.stringify({
      ...{
        hours: (line * EVERY_MS) / 3_600_000,
        nodes: nodes.length,
        lives: sum('lives'),
        steps: sum('steps'),
        foreign: sum('foreign'),
      },
      // Of all nodes, and of the simulation, which keeps their disks and what every node ever wrote.
      ...{ heap: inMebibytes(heapUsed), buffers: inMebibytes(arrayBuffers) },
      disks: inMebibytes(nodes.reduce((so, { diskBytes }) => so + diskBytes, 0)),
      ...{ rejections, breaches: world.breaches, cpuSeconds: Math.round((user + system) / 1e6) },
    }),
  )
  if (world.breaches.length > 0) break
}
process.exit(world.breaches.length > 0 || rejections > 0 ? 1 : 0)
