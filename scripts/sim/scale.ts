// Many nodes, each with the real exchange of groups: admission, verification, memory, fetching. They neither train nor have
// a disk; each writes a group now and then. Says what a node sends, receives and holds, and how long a group takes.
//
//   npm run -s sim:scale -- --nodes 100 --minutes 10 --every 120

import { parseArgs } from 'node:util'
import { createExchange } from '../../daemon/swarm/exchange.ts'
import { contentId } from '../../protocol/wire/index.ts'
import { draftOf } from '../../test/sim/actors/index.ts'
import { authenticityOf, identityFrom } from '../../test/sim/identity.ts'
import { createGossip, createNet } from '../../test/sim/net.ts'
import { codec, even, MAX_TOKENS, writeText } from '../../test/sim/policy.ts'
import { createWorld, EPOCH } from '../../test/sim/world.ts'

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '10' },
    /** Seconds between two groups of a node. */
    every: { type: 'string', default: '120' },
    /** Neighbours of a node, about. */
    degree: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
  },
})
const [count, minutes, every, degree] = [values.nodes, values.minutes, values.every, values.degree].map(
  Number,
)
const world = createWorld({ seed: Number(values.seed) })
const random = world.random('scale')
const net = createNet({ world, random })
/** What is published so shortly before the end is not counted, since it cannot have arrived everywhere. */
const LATE_MS = 10_000
const published = new Map<string, number>()
const delays: number[] = []
const memory = (): number => {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
const before = memory()

const ids = Array.from({ length: count! }, (_, i) => start(i))
/** A ring and random links: gossipsub keeps every node at three to eight, four wanted. */
for (const [i, id] of ids.entries()) {
  net.connect(id, ids[(i + 1) % count!]!)
  for (let more = 1; more < degree! / 2; more++) net.connect(id, random.pick(ids))
}

function start(i: number): string {
  const own = world.random(`node ${i}`)
  const identity = identityFrom(own, 'stand-in')
  const self = identity.peerId
  const life = { isAlive: true }
  const clock = { now: () => Math.floor(EPOCH + world.time), after: world.after }
  const { gossip, receive } = createGossip(
    { self, life },
    {
      net,
      guard: () => exchange.validator.guard,
      validate: (source, message) => exchange.validator.validate(source, message),
      onVerdict() {},
    },
  )
  const exchange = createExchange(
    { maxCompletionTokens: MAX_TOKENS, tasks: [{ name: even.name, version: even.version }] },
    {
      ...{ identity, clock, gossip, codec },
      log() {},
      tasks: { find: (name) => (name === even.name ? even : undefined) },
      version: () => 1,
      onGroup({ prompt, rollouts }) {
        const id = contentId(
          prompt,
          rollouts.map(({ text }) => text),
        )
        const at = published.get(id)
        if (at !== undefined && at < minutes! * 60_000 - LATE_MS) delays.push(world.time - at)
      },
      onEvent() {},
      requests: (records) => net.requests(self, records, life),
      links: { cut: (peer) => net.disconnect(self, peer), slow() {} },
      isWanted: () => false,
      onClock() {},
      onImpostor() {},
      soon: (run) => void world.after(0.1, run),
      salt: own.bytes(16),
      ...authenticityOf('stand-in'),
    },
  )
  net.add(self, {
    onGossip: receive,
    onQuestion: () => [],
    onConnected: exchange.onConnected,
    onDisconnected: exchange.onDisconnected,
  })
  const write = (): void => {
    world.after(every! * 1000 * own.between(0.5, 1.5), () => {
      const draft = draftOf(
        own,
        [0, 1, 2, 3].map((one) => writeText(one % 2 === 0, own.next)),
      )
      const id = contentId(
        draft.prompt,
        draft.rollouts.map(({ text }) => text),
      )
      published.set(id, world.time)
      void exchange.publisher.publish({ ...draft, id })
      write()
    })
  }
  write()
  return self
}

const started = performance.now()
const cpu = process.cpuUsage()
await world.run(minutes! * 60_000)
const { user, system } = process.cpuUsage(cpu)
const seconds = (user + system) / 1e6
const whole = [...published.values()].filter((at) => at < world.time - LATE_MS).length
const sent = [...net.traffic.values()]
const mean = (of: (one: { messages: number; bytes: number }) => number): number =>
  sent.reduce((sum, one) => sum + of(one), 0) / count! / (minutes! * 60)
delays.sort((a, b) => a - b)
console.log(
  JSON.stringify({
    ...{ nodes: count, minutes, every, degree, groups: published.size, events: world.events },
    delivered: Number((delays.length / Math.max(1, whole) / (count! - 1)).toFixed(4)),
    delayMs: {
      median: Math.round(delays[delays.length >> 1] ?? 0),
      p99: Math.round(delays[Math.floor(delays.length * 0.99)] ?? 0),
    },
    messagesPerNodeSecond: Number(mean(({ messages }) => messages).toFixed(3)),
    bytesPerNodeSecond: Math.round(mean(({ bytes }) => bytes)),
    kibPerNode: Math.round((memory() - before) / 1024 / count!),
    cpuSeconds: Number(seconds.toFixed(1)),
    wallSeconds: Number(((performance.now() - started) / 1000).toFixed(1)),
    virtualHoursPerCpuMinute: Number((minutes! / 60 / (seconds / 60)).toFixed(3)),
  }),
)
