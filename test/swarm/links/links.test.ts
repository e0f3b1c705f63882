// The links' upkeep against real hosts, and the assumptions about gossipsub's inside that it stands on: these fail when an
// upgrade moves something.

import { TopicValidatorResult } from '@libp2p/gossipsub'
import type { Connection } from '@libp2p/interface'
import { afterEach, expect, test } from 'vitest'
import { AddressBook } from '../../../daemon/swarm/addresses/address-book.ts'
import {
  forgetMessage,
  type GossipGuard,
  gossipLink,
  meshPeers,
} from '../../../daemon/swarm/gossip/internals.ts'
import type { SwarmNode } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { Links } from '../../../daemon/swarm/links/links.ts'
import { Prober, ping } from '../../../daemon/swarm/links/probe.ts'
import { Redial } from '../../../daemon/swarm/links/redial.ts'
import type { Clock } from '../../../daemon/swarm/types.ts'
import { peerIdOf } from '../../../protocol/wire/index.ts'
import { freshIdentity, until, worldClock } from '../groups.ts'
import { bareHost, fastClock, OPEN_GUARD } from '../libp2p/bare-host.ts'

const TOPIC = '/waggle/1/links/groups'
const stops: Array<() => unknown> = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

interface Seen {
  frames: number
  messages: number
  control: number
}

async function start(
  identity = freshIdentity(),
  { clock = worldClock, onTwin = () => {} }: { clock?: Clock; onTwin?: (peer: string) => void } = {},
): Promise<{ libp2p: SwarmNode; redial: Redial; seen: Seen }> {
  const seen = { frames: 0, messages: 0, control: 0 }
  const guard: GossipGuard = {
    ...OPEN_GUARD,
    frame: () => {
      seen.frames++
      return true
    },
    rpc: (_, { messages, control }) => {
      seen.messages += messages
      seen.control += control
      return true
    },
  }
  const libp2p = await bareHost({ topic: TOPIC, identity, guard })
  const by = {
    libp2p,
    clock,
    log: () => {},
    datastore: undefined,
    random: Math.random,
    lookup: async () => false,
    isUseful: () => false,
    book: new AddressBook({}, { libp2p: () => libp2p, nearby: () => [], random: Math.random }),
  }
  const links = new Links({}, { ...by, isStarved: () => false, onMended: () => {}, onTwin })
  const redial = new Redial({}, by)
  links.start()
  await redial.start()
  stops.push(() => libp2p.stop(), links.stop.bind(links), redial.stop.bind(redial))
  return { libp2p, redial, seen }
}

const id = ({ libp2p }: { libp2p: SwarmNode }) => libp2p.peerId.toString()
const whole = (a: { libp2p: SwarmNode }, b: { libp2p: SwarmNode }) => {
  const link = gossipLink(a.libp2p.services.pubsub, id(b))
  return link?.inbound === true && link.outbound && meshPeers(a.libp2p.services.pubsub, TOPIC).has(id(b))
}
const address = ({ libp2p }: { libp2p: SwarmNode }) =>
  libp2p
    .getMultiaddrs()[0]!
    .toString()
    .replace(/\/p2p\/.*/, '')

async function linked(options: { clock?: Clock } = {}) {
  const a = await start(freshIdentity(), options)
  const b = await start()
  await b.redial.want(id(a), [address(a)])
  await b.redial.dial(id(a))
  await until('the link', () => whole(a, b) && whole(b, a))
  return { a, b }
}

test('gossipsub’s internals are as expected, and the guard sees all incoming data', async () => {
  const { a, b } = await linked()
  expect(gossipLink(a.libp2p.services.pubsub, id(b))).toMatchObject({
    waitingBytes: 0,
    score: expect.any(Number),
  })
  expect(gossipLink(a.libp2p.services.pubsub, freshIdentity().peerId)).toBeUndefined()
  // Subscriptions and grafts have come by.
  expect(a.seen.control).toBeGreaterThan(0)
  const got: string[] = []
  a.libp2p.services.pubsub.addEventListener('message', ({ detail }) => got.push(detail.topic))
  const before = a.seen.messages
  await b.libp2p.services.pubsub.publish(TOPIC, Uint8Array.of(1, 2, 3))
  await until('the message', () => got.length === 1)
  expect(a.seen.messages).toBe(before + 1)
  expect(a.seen.frames).toBeGreaterThan(1)
})

test('a message that was refused because of its sender may come again from another peer', async () => {
  const { a, b } = await linked()
  const c = await start()
  await c.redial.want(id(a), [address(a)])
  await c.redial.dial(id(a))
  await until('the other link', () => whole(a, c) && whole(c, a))
  const sources: string[] = []
  const { pubsub } = a.libp2p.services
  pubsub.topicValidators.set(TOPIC, (source, message) => {
    sources.push(source.toString())
    if (sources.length > 1) return TopicValidatorResult.Accept
    forgetMessage(pubsub, message.topic, message.data)
    return TopicValidatorResult.Ignore
  })
  const got: string[] = []
  pubsub.addEventListener('message', ({ detail }) => got.push(detail.topic))
  await b.libp2p.services.pubsub.publish(TOPIC, Uint8Array.of(7))
  await until('the refusal', () => sources.length === 1)
  await c.libp2p.services.pubsub.publish(TOPIC, Uint8Array.of(7))
  await until('the message', () => got.length === 1)
  expect(sources).toEqual([id(b), id(c)])
})

test('a gossip stream that was aborted while the connection lives is noticed and opened anew', async () => {
  const { a, b } = await linked()
  const inner = b.libp2p.services.pubsub as unknown as {
    streamsOutbound: Map<string, { rawStream: { abort(error: Error): void } }>
  }
  const [connection] = b.libp2p.getConnections(a.libp2p.peerId)
  inner.streamsOutbound.get(id(a))!.rawStream.abort(new Error('as if its buffer had overflowed'))
  await until('the damage', () => !whole(b, a), 2000)
  await until('a whole link', () => whole(a, b) && whole(b, a), 5000)
  expect(b.libp2p.getConnections(a.libp2p.peerId)).toEqual([connection])
})

/** It looks alive, and nothing comes back on it. */
function silence(connection: Connection): void {
  const never = () => new Promise<never>(() => {})
  connection.newStream = never
  ;(connection as never as { muxer: { ping(): Promise<number> } }).muxer.ping = never
}

test('a peer that dials again on a new connection supersedes its old one', async () => {
  const identity = freshIdentity()
  const a = await start()
  const before = await start(identity)
  await before.redial.want(id(a), [address(a)])
  await before.redial.dial(id(a))
  await until('the link', () => whole(a, before))
  const [old] = a.libp2p.getConnections(before.libp2p.peerId)
  // The same identity from a second process, as after a power cut.
  silence(old!)
  before.redial.stop()
  const after = await start(identity)
  await after.redial.want(id(a), [address(a)])
  await after.redial.dial(id(a))
  await until('the old one to go', () => old!.status !== 'open', 5000)
  await until('gossip on the new one', () => whole(a, after) && whole(after, a), 15_000)
})

test('a peer that is connected to two nodes with one identity notices it', async () => {
  const identity = freshIdentity()
  const twins: string[] = []
  // The wait of twenty seconds is short here.
  const after: Clock['after'] = (ms, run) => worldClock.after(ms === 20_000 ? 200 : ms, run)
  const a = await start(freshIdentity(), {
    clock: { ...worldClock, after },
    onTwin: (peer) => twins.push(peer),
  })
  for (const twin of [await start(identity), await start(identity)])
    await twin.redial.want(id(a), [address(a)]).then(() => twin.redial.dial(id(a)))
  await until('the notice', () => twins.length > 0)
  expect(twins[0]).toBe(peerIdOf(identity.signer.publicKey))
})

test('a second connection of a peer whose first one answers costs it nothing', async () => {
  const clock = fastClock(20)
  const { a, b } = await linked({ clock })
  const [first] = a.libp2p.getConnections(b.libp2p.peerId)
  // As AutoNAT does, to see whether we can be reached.
  const second = await b.libp2p.dial(a.libp2p.getMultiaddrs()[0]!, { force: true })
  await until('both', () => a.libp2p.getConnections(b.libp2p.peerId).length === 2)
  // An answer on the second one only starts the wait for the first, of half a second to four; six later both are there.
  await ping(second, worldClock)
  await new Promise<void>((resolve) => clock.after(6000, resolve))
  expect(first!.status).toBe('open')
  await second.close()
  await until('one', () => a.libp2p.getConnections(b.libp2p.peerId).length === 1)
  expect(a.libp2p.getConnections(b.libp2p.peerId)).toEqual([first])
  expect(whole(a, b)).toBe(true)
})

test('a connection that goes quiet is replaced by a new one, and the old one is dropped', async () => {
  const { a, b } = await linked()
  const [old] = b.libp2p.getConnections(a.libp2p.peerId)
  // What a partition does to a connection.
  silence(old!)
  let replaced = 0
  const prober = new Prober(
    {},
    {
      libp2p: b.libp2p,
      clock: worldClock,
      log: () => {},
      isStarved: () => false,
      onReplaced: () => replaced++,
    },
  )
  prober.start()
  stops.push(() => prober.stop())
  await until('the replacement', () => replaced === 1, 12_000)
  expect(old!.status).not.toBe('open')
  expect(b.libp2p.getConnections(a.libp2p.peerId).length).toBeGreaterThan(0)
  await until('gossip on the new one', () => whole(a, b) && whole(b, a), 8000)
})

test('a wanted peer that was lost is dialled until it is back', async () => {
  const identity = freshIdentity()
  const a = await start(identity)
  const b = await start(freshIdentity(), { clock: fastClock(30) })
  const dial = b.libp2p.dial.bind(b.libp2p)
  let dials = 0
  b.libp2p.dial = (...args) => {
    dials++
    return dial(...args)
  }
  const tries = () => dials
  const at = address(a)
  await b.redial.want(id(a), [at])
  await b.redial.dial(id(a))
  await a.libp2p.stop()
  await until('the loss', () => b.libp2p.getPeers().length === 0)
  // libp2p itself gives up after five tries.
  await until('nine tries', () => tries() >= 9)
  expect(b.redial.lastError(id(a))).toBe('nobody answers at that address')
  const again = await bareHost({ topic: TOPIC, identity, listen: [at] })
  stops.push(() => again.stop())
  await until('the return', () => b.libp2p.getPeers().length === 1, 15_000)
})
