// Many nodes, each with the real exchange of groups: admission, verification, memory, fetching. They neither train nor have
// a disk; each writes a group now and then. Nodes leave without a word and new ones come. Says what a node sends, receives
// and holds, how long a group takes, and what a newcomer sees.
//
//   npm run -s sim:scale -- --nodes 100 --minutes 10 --every 120
//   npm run -s sim:scale -- --nodes 1000 --minutes 1440 --every 36000 --churn 0.2 --filter 1024

import { parseArgs } from 'node:util'
import { type Exchanger, openExchanger } from '../../test/sim/exchanger.ts'
import { identityFrom } from '../../test/sim/identity.ts'
import { createNet } from '../../test/sim/net.ts'
import { createWorld } from '../../test/sim/world.ts'

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '10' },
    /** Seconds between two groups of a node. */
    every: { type: 'string', default: '120' },
    /** Neighbours of a node, about: gossipsub keeps every node at three to eight, four wanted. */
    degree: { type: 'string', default: '4' },
    /** Share of the nodes that leave, and are replaced by new ones, in an hour. */
    churn: { type: 'string', default: '0' },
    /** Ids in one filter of what was admitted; by default as many as the daemon has. */
    filter: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
})
const [count, minutes, every, degree, churn] = [
  values.nodes,
  values.minutes,
  values.every,
  values.degree,
  values.churn,
].map(Number) as [number, number, number, number, number]
/** What is published so shortly before the end is not counted, since it cannot have arrived everywhere. */
const LATE_MS = 10_000
/** A newcomer has caught up after this. */
const SETTLED_MS = 30_000
/** As in swarm/exchange.ts: for how long a newcomer asks its neighbours. */
const ASKED_MS = 155_000
/** A neighbour is missed and replaced after this. */
const REPLACED_MS = 5000

const world = createWorld({ seed: Number(values.seed) })
const random = world.random('scale')
const net = createNet({ world, random })

interface Member extends Exchanger {
  bornAt: number
  /** Groups from before its time that it has. */
  caughtUp: number
}
const members: Member[] = []
/** By the seed of the prompt: when, and how many nodes there were besides the author. */
const published = new Map<number, { at: number; others: number }>()
/** How many groups took so many ms. */
const delays = new Uint32Array(60_000)
let [expected, delivered, joined, left] = [0, 0, 0, 0]
const newcomers = { caughtUp: 0, missed: 0 }

function join(): Member {
  const name = `node ${joined++}`
  const own = world.random(name)
  const member: Member = {
    ...openExchanger(
      {
        ...{ identity: identityFrom(own, 'stand-in'), random: own },
        ...(values.filter !== undefined && { filterEntries: Number(values.filter) }),
      },
      {
        world,
        net,
        onGroup({ prompt }) {
          const { at } = published.get(prompt.seed)!
          if (at < member.bornAt) member.caughtUp++
          else if (at < minutes * 60_000 - LATE_MS) {
            delivered++
            delays[Math.min(delays.length - 1, Math.round(world.time - at))]!++
          }
        },
      },
    ),
    bornAt: world.time,
    caughtUp: 0,
  }
  void member.exchange.start()
  members.push(member)
  const write = (): void => {
    if (!members.includes(member)) return
    const { prompt } = member.write()
    const others = members.length - 1
    published.set(prompt.seed, { at: world.time, others })
    if (world.time < minutes * 60_000 - LATE_MS) expected += others
    world.after(every * 1000 * own.between(0.5, 1.5), write)
  }
  world.after(every * 1000 * own.next(), write)
  return member
}

const link = (member: Member): void => net.connect(member.id, random.pick(members).id)

function leave(): void {
  const [gone] = members.splice(Math.floor(random.next() * members.length), 1)
  const lonely = members.filter(({ id }) => net.neighbours(gone!.id).has(id))
  gone!.kill()
  left++
  world.after(REPLACED_MS, () => {
    for (const member of lonely)
      if (members.includes(member) && net.neighbours(member.id).size < degree) link(member)
  })
}

function replace(): void {
  leave()
  const member = join()
  for (let i = 0; i < degree; i++) link(member)
  const recent = [...published.values()].filter(({ at }) => at > world.time - ASKED_MS).length
  world.after(SETTLED_MS, () => {
    newcomers.caughtUp += member.caughtUp
    newcomers.missed += Math.max(0, recent - member.caughtUp)
  })
  world.after((3_600_000 / (churn * count)) * random.between(0, 2), replace)
}

const memory = (): number => {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const before = memory()
const cpu = process.cpuUsage()
for (let i = 0; i < count; i++) join()
/** A ring and random links. */
for (const [i, member] of members.entries()) {
  net.connect(member.id, members[(i + 1) % count]!.id)
  for (let more = 1; more < degree / 2; more++) link(member)
}
if (churn > 0) world.after((3_600_000 / (churn * count)) * random.next(), replace)

for (let tenth = 1; tenth <= 10; tenth++) {
  await world.run(minutes * 6000 * tenth)
  console.log(JSON.stringify(report()))
}

function report(): object {
  const { user, system } = process.cpuUsage(cpu)
  const seconds = (user + system) / 1e6
  const sent = [...net.traffic.values()]
  const mean = (of: (one: { messages: number; bytes: number }) => number): number =>
    sent.reduce((sum, one) => sum + of(one), 0) / count / (world.time / 1000)
  const quantile = (share: number): number => {
    let rest = share * delivered
    return delays.findIndex((many) => {
      rest -= many
      return rest <= 0
    })
  }
  return {
    ...{ nodes: count, virtualMinutes: world.time / 60_000, every, degree, churn },
    ...{ groups: published.size, joined, left, events: world.events },
    // Of what is on its way, some is missing before the end.
    delivered: Number((delivered / Math.max(1, expected)).toFixed(4)),
    delayMs: { median: quantile(0.5), p99: quantile(0.99) },
    messagesPerNodeSecond: Number(mean(({ messages }) => messages).toFixed(4)),
    bytesPerNodeSecond: Math.round(mean(({ bytes }) => bytes)),
    ...(churn > 0 && { newcomers }),
    kibPerNode: Math.round((memory() - before) / 1024 / count),
    cpuSeconds: Number(seconds.toFixed(1)),
    virtualHoursPerCpuMinute: Number((world.time / 3_600_000 / (seconds / 60)).toFixed(3)),
  }
}
