// Crowds that take up connections: sockets that never make their handshake, and identities that never say anything. An
// honest node has to get in all the same. Real sockets and real libp2p hosts on loopback.

import { connect, type Socket } from 'node:net'
import type { Connection } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { afterEach, describe, expect, test } from 'vitest'
import { addressRange } from '../../../daemon/swarm/addresses/address-range.ts'
import { ConnectionLimit } from '../../../daemon/swarm/libp2p/connection-limit.ts'
import { Handshakes } from '../../../daemon/swarm/libp2p/handshakes.ts'
import type { SwarmNode } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { draft, freshIdentity, startNode, stillClock, stopNodes, until } from '../helpers.ts'
import { startRawAttacker, stopAttackers } from '../hostile/attacker.ts'

const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await stopAttackers()
  await stopNodes()
})

/** Opens a socket and says nothing; opens another where it is closed. */
async function holdOpen(address: string, count: number): Promise<void> {
  const port = Number(/tcp\/(\d+)/.exec(address)![1])
  let isOver = false
  const open = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', resolve)
      sockets.push(socket)
      socket.on('error', () => resolve())
      socket.on('close', () => {
        if (!isOver && sockets.includes(socket)) setTimeout(() => void open(), 200)
      })
    })
  await Promise.all(Array.from({ length: count }, open))
  stops.push(() => {
    isOver = true
  })
}
const stops: Array<() => void> = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

test('120 sockets that never begin a handshake do not keep peers out', async () => {
  const victim = await startNode()
  await holdOpen(victim.address, 120)
  for (let i = 0; i < 5; i++) {
    const honest = await startNode()
    const joined = await honest.swarm.join(victim.address, { signal: AbortSignal.timeout(15_000) })
    expect(joined).toMatchObject({ state: 'connected' })
  }
})

test('with 31 silent identities in 32 places, a newcomer can join and send, and joined peers stay', async () => {
  const victim = await startNode({ maxConnections: 32 })
  const friend = await startNode()
  await victim.swarm.join(friend.address)
  for (let i = 0; i < 31; i++) await startRawAttacker(victim.address)
  expect(victim.swarm.counters().connected).toBe(32)
  const newcomer = await startNode()
  const joined = await newcomer.swarm.join(victim.address, { signal: AbortSignal.timeout(15_000) })
  expect(joined).toMatchObject({ state: 'connected' })
  await until('gossip', () => newcomer.swarm.peers().some(({ mesh }) => mesh))
  await newcomer.swarm.publish(draft(1))
  await until('its group', () => victim.groups.length === 1)
  expect(victim.swarm.counters().connected).toBeLessThanOrEqual(32)
  const view = (node: typeof friend) => victim.swarm.peers().find(({ id }) => id === node.swarm.peerId)
  expect([view(friend)?.connected, view(newcomer)?.connected]).toEqual([true, true])
})

test('address ranges: a /24, a /48, everything behind one relay, and IPv4-mapped IPv6', () => {
  const relay = freshIdentity().peerId
  const range = (address: string) => addressRange(multiaddr(address))
  expect(range('/ip4/198.51.100.7/tcp/1')).toBe(range('/ip4/198.51.100.200/tcp/9'))
  expect(range('/ip4/198.51.101.7/tcp/1')).not.toBe(range('/ip4/198.51.100.7/tcp/1'))
  expect(range('/ip6/2001:db8:1::1/tcp/1')).toBe(range('/ip6/2001:db8:1:ffff::2/tcp/1'))
  expect(range('/ip6/2001:db8::1/tcp/1')).not.toBe(range('/ip6/2001:db8:1::1/tcp/1'))
  expect(range(`/ip4/198.51.100.7/tcp/1/p2p/${relay}/p2p-circuit`)).toBe(`relay ${relay}`)
  expect(range('/ip6/::ffff:198.51.100.7/tcp/1')).toBe(range('/ip4/198.51.100.7/tcp/1'))
})

describe('which connection is closed', () => {
  const socket = (address: string) => {
    const closed: Array<() => void> = []
    return {
      remoteAddr: multiaddr(address),
      isOut: false,
      addEventListener: (_: string, run: () => void) => closed.push(run),
      abort() {
        this.isOut = true
        for (const run of closed) run()
      },
    }
  }

  test('before the handshake: the oldest of the range with most', () => {
    const handshakes = new Handshakes({ limit: 4 })
    const honest = socket('/ip4/203.0.113.9/tcp/1')
    handshakes.begin(honest as never)
    const crowd = Array.from({ length: 8 }, (_, i) => socket(`/ip4/198.51.100.${i}/tcp/1`))
    for (const one of crowd) handshakes.begin(one as never)
    expect(honest.isOut).toBe(false)
    expect(crowd.map(({ isOut }) => isOut)).toEqual([true, true, true, true, true, false, false, false])
    handshakes.done(honest as never)
    expect(handshakes.count).toBe(3)
  })

  /** A host with connections that are made by hand. */
  function crowded(limit: number) {
    const open: Array<Connection & { isOut: boolean }> = []
    const libp2p = Object.assign(new EventTarget(), { getConnections: () => open }) as unknown as SwarmNode
    const by = { wanted: new Set<string>(), useful: new Set<string>() }
    const places = new ConnectionLimit(
      { limit },
      {
        libp2p,
        clock: stillClock(),
        isWanted: (id) => by.wanted.has(id),
        isUseful: (id) => by.useful.has(id),
      },
    )
    places.start()
    const come = (id: string, address: string, direction: 'inbound' | 'outbound' = 'inbound') => {
      const connection = {
        remotePeer: id,
        remoteAddr: multiaddr(address),
        direction,
        status: 'open',
        timeline: { open: open.length },
        isOut: false,
        abort(this: { isOut: boolean; status: string }) {
          this.isOut = true
          this.status = 'aborted'
        },
      } as unknown as Connection & { isOut: boolean }
      open.push(connection)
      libp2p.dispatchEvent(new CustomEvent('connection:open', { detail: connection }))
      return connection
    }
    return { ...by, places, come }
  }

  test('peers that greet but send no groups leave most places to those that do', () => {
    const { places, come, useful, wanted } = crowded(16)
    wanted.add('friend')
    const friend = come('friend', '/ip4/192.168.1.2/tcp/1')
    const good = Array.from({ length: 12 }, (_, i) => {
      useful.add(`good ${i}`)
      return come(`good ${i}`, `/ip4/192.0.${i}.1/tcp/1`)
    })
    const strangers = Array.from({ length: 40 }, (_, i) => {
      places.hasGreeted(`stranger ${i}`)
      return come(`stranger ${i}`, `/ip4/198.51.100.${i}/tcp/1`)
    })
    expect([friend, ...good].filter(({ isOut }) => isOut)).toEqual([])
    expect(strangers.filter(({ isOut }) => !isOut)).toHaveLength(3)
  })

  test('newcomers keep their share of places when useful peers take all others', () => {
    const { places, come, useful } = crowded(16)
    for (let i = 0; i < 16; i++) {
      useful.add(`good ${i}`)
      come(`good ${i}`, `/ip4/192.0.2.${i}/tcp/1`)
    }
    places.hasGreeted('newcomer')
    expect(come('newcomer', '/ip4/198.51.100.1/tcp/1').isOut).toBe(false)
  })

  test('a range that brings one identity after the other has to slow down; others need not wait', () => {
    const { places, wanted } = crowded(16)
    const from = (host: string) => ({ remoteAddr: multiaddr(`/ip4/${host}/tcp/1`) })
    const admitted = Array.from({ length: 500 }, (_, i) => places.admits(`id ${i}`, from('198.51.100.1')))
    expect(admitted.filter(Boolean)).toHaveLength(100)
    expect(places.admits('newcomer', from('203.0.113.1'))).toBe(true)
    wanted.add('friend')
    expect(places.admits('friend', from('198.51.100.2'))).toBe(true)
  })
})
