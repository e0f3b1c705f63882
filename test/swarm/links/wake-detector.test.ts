// What happens to connections when the machine was asleep or has changed networks, under a virtual clock.

import type { Connection, PeerId } from '@libp2p/interface'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SwarmNode } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { Prober } from '../../../daemon/swarm/links/probe.ts'
import { Redial } from '../../../daemon/swarm/links/redial.ts'
import { WakeDetector } from '../../../daemon/swarm/links/wake-detector.ts'
import { VirtualClock } from '../../virtual-clock.ts'
import { freshIdentity } from '../groups.ts'

let clock: VirtualClock
let addresses: string[]
/** The time that the machine was asleep, ms. */
let slept: number
let wakes: number
let said: string[]
let waking: WakeDetector
beforeEach(() => {
  clock = new VirtualClock()
  addresses = ['192.168.1.7', 'fe80::1']
  wakes = 0
  said = []
  slept = 0
  waking = new WakeDetector(
    {},
    {
      clock,
      log: (_level, message) => void said.push(message),
      addresses: () => addresses,
      counted: () => clock.now() - slept,
      onWake: () => {
        wakes += 1
      },
    },
  )
  waking.start()
})
afterEach(() => waking.stop())

test('a machine that works is never taken for one that slept, even if it is late by seconds', async () => {
  await clock.pass(60_000)
  clock.sleep(9000)
  await clock.pass(60_000)
  expect(wakes).toBe(0)
})

test('a machine that is too busy for half a minute is not taken for one that slept', async () => {
  await clock.pass(7000)
  clock.sleep(30_000)
  await clock.pass(60_000)
  expect([wakes, said]).toEqual([0, []])
})

test('a process that was stopped for an hour looks at its connections, and does not say that it slept', async () => {
  await clock.pass(5500)
  clock.sleep(3_600_000)
  await clock.pass(1000)
  expect([wakes, said]).toEqual([1, ['this process was stopped, or the machine is very busy: reconnecting']])
})

test('a machine that slept is noticed within a second of waking', async () => {
  await clock.pass(5500)
  clock.sleep(3_600_000)
  slept = 3_600_000
  await clock.pass(1000)
  expect(wakes).toBe(1)
  await clock.pass(60_000)
  expect(wakes).toBe(1)
})

test('another network is noticed within a second; the order of addresses means nothing', async () => {
  addresses = ['fe80::1', '192.168.1.7']
  await clock.pass(5000)
  expect(wakes).toBe(0)
  addresses = ['10.0.0.3']
  await clock.pass(1000)
  expect(wakes).toBe(1)
})

test('losing the network is nothing to act on; getting another one is, and the same one is not', async () => {
  addresses = []
  await clock.pass(5000)
  addresses = ['192.168.1.7', 'fe80::1']
  await clock.pass(5000)
  expect(wakes).toBe(0)
  addresses = []
  await clock.pass(5000)
  addresses = ['172.16.0.9']
  await clock.pass(1000)
  expect(wakes).toBe(1)
})

/** A host with one connection, over which nothing comes back, and that can be dialled anew. */
function hostWithDeadLink() {
  const id = freshIdentity().peerId
  const peer = { toString: () => id } as unknown as PeerId
  const dead = {
    remotePeer: peer,
    status: 'open',
    newStream: () => new Promise(() => {}),
    abort() {
      this.status = 'aborted'
    },
  }
  const connections: unknown[] = [dead]
  const dials: number[] = []
  const host = {
    addEventListener: () => {},
    removeEventListener: () => {},
    getPeers: () => [peer],
    getConnections: () => connections,
    async dial() {
      dials.push(clock.now())
      const made = { remotePeer: peer, status: 'open', close: async () => {} }
      connections.push(made)
      return made as unknown as Connection
    },
  }
  return { libp2p: host as unknown as SwarmNode, dead, dials }
}

test('after a wake, a dead connection is replaced within three seconds instead of five', async () => {
  const { libp2p, dead, dials } = hostWithDeadLink()
  const replaced: string[] = []
  const prober = new Prober(
    {},
    {
      libp2p,
      clock,
      log: () => {},
      isStarved: () => waking.isStarved(),
      onReplaced: (peer) => replaced.push(peer),
    },
  )
  prober.start()
  // A gossip frame a second keeps it from being doubted.
  for (let second = 0; second < 10; second++) {
    prober.heard(libp2p.getPeers()[0]!.toString())
    await clock.pass(1000)
  }
  expect(dials).toEqual([])
  const woke = clock.now()
  prober.hurry()
  await clock.pass(1400)
  expect(dials).toEqual([woke + 1000])
  expect([dead.status, replaced.length]).toEqual(['aborted', 1])
  prober.stop()
})

test('a connection that was doubted already is given up as soon after a wake', async () => {
  const { libp2p, dials } = hostWithDeadLink()
  const prober = new Prober(
    {},
    { libp2p, clock, log: () => {}, isStarved: () => waking.isStarved(), onReplaced: () => {} },
  )
  prober.start()
  // Silent from the start, so it is doubted at the first check and has four seconds to answer.
  await clock.pass(1500)
  expect(dials).toEqual([])
  prober.hurry()
  await clock.pass(1000)
  expect(dials).toHaveLength(1)
  prober.stop()
})

test('a process that gets no processor time dials nobody who seems silent, until it is on time again', async () => {
  const { libp2p, dead, dials } = hostWithDeadLink()
  const prober = new Prober(
    {},
    { libp2p, clock, log: () => {}, isStarved: () => waking.isStarved(), onReplaced: () => {} },
  )
  prober.start()
  for (let check = 0; check < 60; check++) {
    clock.sleep(1000)
    await clock.pass(1000)
  }
  expect(dials).toEqual([])
  expect(dead.status).toBe('open')
  await clock.pass(6000)
  expect(dials).toHaveLength(1)
  prober.stop()
})

test('a peer that neither answers nor can be dialled is given up after half a minute', async () => {
  const { libp2p, dead } = hostWithDeadLink()
  libp2p.dial = () => Promise.reject(new Error('nobody answers'))
  const prober = new Prober(
    {},
    { libp2p, clock, log: () => {}, isStarved: () => waking.isStarved(), onReplaced: () => {} },
  )
  prober.start()
  await clock.pass(25_000)
  expect(dead.status).toBe('open')
  await clock.pass(15_000)
  expect(dead.status).toBe('aborted')
  prober.stop()
})

test('after a wake, a dial that is stuck ends, and the peer is dialled again within two seconds', async () => {
  const dials: AbortSignal[] = []
  const libp2p = {
    peerId: { toString: () => 'z' },
    addEventListener: () => {},
    removeEventListener: () => {},
    getPeers: () => [],
    getConnections: () => [],
    peerStore: { merge: async () => {} },
    dial: (_: unknown, { signal }: { signal: AbortSignal }) => {
      dials.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  } as unknown as SwarmNode
  const redial = new Redial(
    {},
    {
      ...{ libp2p, clock, log: () => {}, datastore: undefined, random: () => 0 },
      book: { of: async () => [], worked: () => {} },
      lookup: async () => false,
      isUseful: () => false,
    },
  )
  await redial.want(freshIdentity().peerId)
  await redial.start()
  await clock.pass(3000)
  expect(dials).toHaveLength(1)
  redial.hurry()
  expect(dials[0]!.aborted).toBe(true)
  await clock.pass(2000)
  expect(dials).toHaveLength(2)
  redial.stop()
})
