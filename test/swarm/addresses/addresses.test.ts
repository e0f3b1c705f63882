// Where peers are looked for: what worked, what a person gave and what the peer signed come before what others say, and what
// others say is not kept for ever. Real nodes on loopback.

import { type AddressInfo, createServer, type Socket } from 'node:net'
import { peerIdFromString } from '@libp2p/peer-id'
import { lpStream } from '@libp2p/utils'
import { multiaddr } from '@multiformats/multiaddr'
import { afterEach, expect, test } from 'vitest'
import { AddressBook } from '../../../daemon/swarm/addresses/address-book.ts'
import type { SwarmNode } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { Forgetting } from '../../../daemon/swarm/links/forgetting.ts'
import { encodeHello, HELLO_PROTOCOL } from '../../../protocol/wire/index.ts'
import { freshDatastore, freshIdentity, startNode, stillClock, stopNodes, until } from '../helpers.ts'
import { startRawAttacker, stopAttackers } from '../hostile/attacker.ts'
import { bareHost } from '../libp2p/bare-host.ts'

const stops: Array<() => unknown> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  await stopAttackers()
  await stopNodes()
})

/** Addresses of servers that take a connection and never say a word. */
async function silentServers(count: number): Promise<string[]> {
  const sockets: Socket[] = []
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer((socket) => sockets.push(socket.on('error', () => {})))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      stops.push(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
      // A name, since names are dialled before addresses.
      return `/dns4/localhost/tcp/${(server.address() as AddressInfo).port}`
    }),
  )
}

const DEAD = Array.from({ length: 8 }, (_, i) => `/ip4/198.18.${i}.1/tcp/4001`)

test('a joined peer that was away is found at its old address at once, whatever others reported', async () => {
  const identity = freshIdentity()
  const friend = await startNode({}, { identity })
  const listen = [friend.address.replace(/\/p2p\/.*/, '')]
  const victim = await startNode({}, { datastore: await freshDatastore() })
  await victim.swarm.join(friend.address)
  await friend.swarm.stop()
  await until('that it is gone', () => victim.swarm.counters().connected === 0)
  const silent = await silentServers(12)
  for (let i = 0; i < 3; i++) {
    const { node } = await startRawAttacker(victim.address)
    const stream = await node.getConnections()[0]!.newStream(HELLO_PROTOCOL)
    const contacts = [{ peerId: identity.peerId, addresses: silent.slice(4 * i, 4 * i + 4) }]
    await lpStream(stream).write(encodeHello({ swarm: 'test', tasks: [], contacts }))
    await lpStream(stream).read()
  }
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const back = await startNode({ listen }, { identity })
  const since = performance.now()
  await until('the friend', () => back.swarm.counters().connected === 1, 20_000)
  expect(performance.now() - since).toBeLessThan(10_000)
}, 40_000)

test('the order: worked before, given by a person, signed by the peer, seen on the local network, reported by others', async () => {
  const { peerId } = freshIdentity()
  const address = (host: number) => `/ip4/203.0.113.${host}/tcp/1`
  const stored = [
    { multiaddr: multiaddr(address(7)), isCertified: false },
    { multiaddr: multiaddr(address(3)), isCertified: true },
    ...DEAD.map((one) => ({ multiaddr: multiaddr(one), isCertified: false })),
  ]
  const libp2p = { peerStore: { get: async () => ({ addresses: stored }) } } as unknown as SwarmNode
  const book = new AddressBook({}, { libp2p: () => libp2p, nearby: () => [address(4)], random: () => 0.999 })
  book.worked(peerId, address(1))
  book.heard(peerId, [address(5), 'no address', `/ip4/203.0.113.6/tcp/1/p2p/${freshIdentity().peerId}`])
  const found = await book.of(peerIdFromString(peerId), { given: [address(2)] })
  const hosts = found.map((one) => one.getComponents()[0]!.value)
  expect(hosts.slice(0, 5)).toEqual([1, 2, 3, 4, 5].map((n) => `203.0.113.${n}`))
  // Of what the peer store has from others, three.
  expect(hosts).toHaveLength(8)
  const shuffled = found.map((one) => ({ multiaddr: one, isCertified: false })).reverse()
  const sorted = shuffled.sort(book.compare).map((one) => one.multiaddr.getComponents()[0]!.value)
  expect(sorted.slice(0, 3)).toEqual(hosts.slice(0, 3))
  expect(await book.tellable(peerIdFromString(peerId))).toEqual([address(3)])
})

test('a limited number of unimportant identities is remembered; important ones stay', async () => {
  const datastore = await freshDatastore()
  const libp2p = await bareHost({ topic: '/waggle/1/bare/groups', datastore })
  const friend = freshIdentity().peerId
  const by = { libp2p, datastore, clock: stillClock(), log: () => {}, keeps: (id: string) => id === friend }
  const forgetting = new Forgetting({ keep: 20 }, by)
  stops.push(
    () => forgetting.stop(),
    () => libp2p.stop(),
  )
  await forgetting.start()
  await libp2p.peerStore.merge(peerIdFromString(friend), { multiaddrs: DEAD.map((one) => multiaddr(one)) })
  for (let i = 0; i < 200; i++) {
    const peer = peerIdFromString(freshIdentity().peerId)
    const multiaddrs = Array.from({ length: 30 }, (_, j) => multiaddr(`/ip4/198.51.100.${j}/tcp/${i + 1}`))
    await libp2p.peerStore.merge(peer, { multiaddrs })
  }
  await forgetting.sweep()
  const kept = await libp2p.peerStore.all()
  expect(kept).toHaveLength(21)
  expect(kept.map(({ id }) => id.toString())).toContain(friend)
  await forgetting.sweep()
  for (const { addresses } of await libp2p.peerStore.all()) expect(addresses.length).toBeLessThanOrEqual(16)
})
