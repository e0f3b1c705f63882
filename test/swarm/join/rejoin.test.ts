// A node leaves its swarm and joins again soon after, and how peers that refuse a connection are left alone meanwhile.

import type { Connection } from '@libp2p/interface'
import { afterEach, expect, test } from 'vitest'
import { DialBackoff } from '../../../daemon/swarm/links/dial-backoff.ts'
import { multicast } from '../addresses/multicast.ts'
import { startNode, stillClock, stopNodes, type TestNode, until } from '../helpers.ts'
import { fastClock } from '../libp2p/bare-host.ts'

afterEach(stopNodes)

function made({ random = () => 0.5 }: { random?: () => number } = {}) {
  const clock = stillClock()
  const open: Connection[] = []
  const host = Object.assign(new EventTarget(), { getConnections: () => open })
  const backoff = new DialBackoff({}, { libp2p: () => host as never, clock, random })
  backoff.start()
  const closes = (peer: string, { afterMs = 10, direction = 'outbound' } = {}) => {
    const timeline = { open: 1000, close: 1000 + afterMs }
    const detail = { remotePeer: peer, direction, timeline } as unknown as Connection
    host.dispatchEvent(new CustomEvent('connection:close', { detail }))
  }
  /** How long the peer is not dialled, in ms. */
  const waits = (peer: string) => {
    const from = clock.time
    while (backoff.isWaiting(peer)) clock.time += 100
    const took = clock.time - from
    clock.time = from
    return took
  }
  return { clock, open, backoff, closes, waits }
}

test('each refusal in a row doubles the wait before the next dial, up to a minute', () => {
  const { closes, waits } = made()
  const seen = Array.from({ length: 7 }, () => {
    closes('a')
    return waits('a')
  })
  expect(seen).toEqual([2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  expect(waits('b')).toBe(0)
})

test('waits are spread, so that nodes do not dial at the same moment', () => {
  const waitOf = (random: number) => {
    const { closes, waits } = made({ random: () => random })
    closes('a')
    return waits('a')
  }
  expect([waitOf(0), waitOf(0.999)]).toEqual([1500, 2500])
})

test('a connection that lasted, or a person’s join, ends the wait', () => {
  const { backoff, closes, waits } = made()
  closes('a')
  closes('a')
  closes('a', { afterMs: 5000 })
  expect(waits('a')).toBe(0)
  closes('a')
  expect(waits('a')).toBe(2000)
  backoff.reset()
  expect(waits('a')).toBe(0)
})

test('closing a connection that the peer dialled, or the second of two, is no refusal', () => {
  const { open, closes, waits } = made()
  closes('a', { direction: 'inbound' })
  expect(waits('a')).toBe(0)
  open.push({ status: 'open' } as Connection)
  closes('a')
  expect(waits('a')).toBe(0)
})

test('any number of peers that refuse takes bounded memory, and the newest refusals count', () => {
  const { closes, waits } = made()
  for (let i = 0; i < 1000; i++) closes(`peer ${i}`)
  expect(waits('peer 0')).toBe(0)
  expect(waits('peer 999')).toBe(2000)
})

// By an address, and by a peer ID where mDNS goes on finding the node that has left.
test.each(multicast ? (['off', 'open'] as const) : (['off'] as const))(
  'leave, and join seconds later: one connection, and no storm of others (lan %s)',
  async (lan) => {
    const clock = fastClock(4)
    const a = await startNode({ wide: true, lan, swarm: 'rejoin' }, { clock })
    const b = await startNode({ wide: true, lan, swarm: 'rejoin' }, { clock })
    const target = lan === 'off' ? b.address : b.swarm.peerId
    await a.swarm.join(target)
    await b.swarm.join(a.address)
    await until('gossip', () => a.swarm.peers().some(({ mesh }) => mesh))
    const changes = ({ events }: TestNode) =>
      events.filter((event) => event.type === 'peer' && /connected/.test(event.change)).length
    const before = [changes(a), changes(b)] as const
    await a.swarm.leave()
    await until('the other notices', () => b.swarm.counters().connected === 0)
    // Time for many dials: the first is due after a second.
    await new Promise<void>((resolve) => clock.after(8000, resolve))
    // It has seen the other go, and its dials since then are no connections.
    expect(changes(b) - before[1]).toBe(1)
    expect([a, b].map(({ swarm }) => swarm.counters().hasLeft)).toEqual([true, false])
    expect((await a.swarm.join(target)).state).toBe('connected')
    await until('one connection', () =>
      [a, b].every(({ swarm }) => swarm.peers().filter(({ connected }) => connected).length === 1),
    )
    // Gone, and connected again, perhaps by both sides at once.
    expect(changes(a) - before[0]).toBeLessThanOrEqual(4)
    expect(changes(b) - before[1]).toBeLessThanOrEqual(4)
  },
  20_000,
)
