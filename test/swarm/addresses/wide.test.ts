// Beyond one network, as far as loopback can show it: peers found through peers, and a node that nobody can dial.

import { afterEach, expect, test } from 'vitest'
import { draft, startNode, stopNodes, until } from '../helpers.ts'

afterEach(stopNodes)

test('a bare peer ID is found through a contact, without mDNS', async () => {
  const contact = await startNode({ wide: true })
  const a = await startNode({ wide: true })
  const b = await startNode({ wide: true })
  await a.swarm.join(contact.address)
  await until('identify', () => contact.swarm.peers().some((peer) => peer.mesh))
  await b.swarm.join(contact.address)
  expect(await b.swarm.join(a.swarm.peerId, { signal: AbortSignal.timeout(10_000) })).toMatchObject({
    state: 'connected',
    peerId: a.swarm.peerId,
  })
})

test('a node that cannot be dialled is reached through a relay, and its groups arrive', async () => {
  // The relay has none of the tasks, and passes their groups on all the same.
  const relay = await startNode({ wide: true, relay: true }, { tasks: { find: () => undefined } })
  const hidden = await startNode({ wide: true, listen: [] })
  const b = await startNode({ wide: true })
  await hidden.swarm.join(relay.address)
  await b.swarm.join(relay.address)
  await until('a reservation', () =>
    hidden.swarm.addresses().some((address) => address.includes('/p2p-circuit/')),
  )
  const outcome = await b.swarm.join(hidden.swarm.peerId, { signal: AbortSignal.timeout(10_000) })
  expect(outcome).toMatchObject({ state: 'connected', peerId: hidden.swarm.peerId })
  await hidden.swarm.publish(draft(1))
  await b.swarm.publish(draft(2))
  await until('both groups', () => b.groups.length === 1 && hidden.groups.length === 1)
  expect(relay.groups).toEqual([])
  // A joining node also fetches what it missed, so on a slow machine a group may reach it twice.
  const { duplicate: _, ...refused } = relay.swarm.counters().refused
  expect(refused).toEqual({})
})

test('an address that has gone out of date does not hide where a peer is now', async () => {
  const contact = await startNode({ wide: true })
  const a = await startNode({ wide: true })
  await a.swarm.join(contact.address)
  const b = await startNode({ wide: true })
  // Nobody is there any more; that it is A's ID makes B keep it.
  const gone = `/ip4/127.0.0.1/tcp/1/p2p/${a.swarm.peerId}`
  const searching = b.swarm.join(gone, { signal: AbortSignal.timeout(20_000) })
  await b.swarm.join(contact.address)
  expect(await searching).toMatchObject({ state: 'connected', peerId: a.swarm.peerId })
})

test('a node that finds a relay later tells the peers that it already has', async () => {
  const contact = await startNode({ wide: true })
  const relay = await startNode({ wide: true, relay: true })
  const hidden = await startNode({ wide: true, listen: [] })
  await hidden.swarm.join(contact.address)
  await hidden.swarm.join(relay.address)
  const b = await startNode({ wide: true })
  await b.swarm.join(contact.address)
  const outcome = await b.swarm.join(hidden.swarm.peerId, { signal: AbortSignal.timeout(20_000) })
  expect(outcome).toMatchObject({ state: 'connected', peerId: hidden.swarm.peerId })
})

test('a node without peers stays idle', async () => {
  // A DHT with a relay listener and no peers can loop without end: then this would not come back, or never be quiet.
  await startNode({ wide: true })
  const quiet = async () => {
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, 200))
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 200_000 < 0.2
  }
  let tries = 0
  while (!(await quiet())) expect(++tries).toBeLessThan(20)
})
