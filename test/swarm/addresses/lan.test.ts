// Nodes on one local network: to be seen is not to be joined. Real multicast on this machine where there is any; what
// does not need it is tried without.

import { afterEach, describe, expect, test } from 'vitest'
import { Neighbours } from '../../../daemon/swarm/addresses/neighbours.ts'
import { freshDatastore, freshIdentity, startNode, stillClock, stopNodes, until } from '../helpers.ts'
import { multicast } from './multicast.ts'

afterEach(stopNodes)

describe.runIf(multicast)('two nodes that were never introduced', () => {
  test('ask: each node reports the other, neither dials, and an ID is enough to join', async () => {
    const options = { lan: 'ask', wide: true, swarm: 'lan-ask' } as const
    const a = await startNode(options, { datastore: await freshDatastore() })
    const b = await startNode(options, { datastore: await freshDatastore() })
    const told = ({ events }: typeof a) =>
      events.flatMap((event) => (event.type === 'notice' && event.key === 'lan' ? [event] : []))
    await until('both notices', () => told(a).length === 1 && told(b).length === 1, 15_000)
    // Two that began later and may join have found and dialled each other: by now these two would have, too.
    const c = await startNode({ ...options, lan: 'open', swarm: 'lan-ask-open' })
    const d = await startNode({ ...options, lan: 'open', swarm: 'lan-ask-open' })
    await until('the others', () => [c, d].every(({ swarm }) => swarm.counters().connected === 1), 15_000)
    expect([a, b].map(({ swarm }) => swarm.counters().connected)).toEqual([0, 0])
    expect(told(a)[0]).toMatchObject({
      message: expect.stringContaining(b.swarm.peerId),
      action: expect.stringContaining(`waggle join ${b.swarm.peerId}`),
    })
    expect(a.swarm.peers()).toMatchObject([{ id: b.swarm.peerId, nearby: true, wanted: false }])
    const joined = await b.swarm.join(a.swarm.peerId, { signal: AbortSignal.timeout(2000) })
    expect(joined).toMatchObject({ state: 'connected' })
    await until('that it is told no more', () =>
      [a, b].every(({ events }) => events.some((event) => event.type === 'over' && event.key === 'lan')),
    )
    expect(a.swarm.peers()).toMatchObject([{ nearby: false, connected: true }])
  }, 60_000)

  test('open: they join each other', async () => {
    const options = { lan: 'open', swarm: 'lan-open' } as const
    const a = await startNode(options)
    const b = await startNode(options)
    await until('the link', () => [a, b].every(({ swarm }) => swarm.counters().connected === 1), 15_000)
  }, 20_000)

  test('off: it sees nobody and nobody sees it, while others see one another', async () => {
    const off = await startNode({ lan: 'off', swarm: 'lan-off' })
    const a = await startNode({ lan: 'ask', swarm: 'lan-off' })
    const b = await startNode({ lan: 'ask', swarm: 'lan-off' })
    const seenBy = ({ swarm }: typeof a) => swarm.peers().map(({ id }) => id)
    // The one that is off started first: by the time that the others have found each other, they would have found it.
    await until('each other', () => seenBy(a).length > 0 && seenBy(b).length > 0, 15_000)
    expect([seenBy(a), seenBy(b), seenBy(off)]).toEqual([[b.swarm.peerId], [a.swarm.peerId], []])
  }, 20_000)
})

describe('notices about neighbours', () => {
  function neighbours(lan: 'ask' | 'open' | 'off', hasCompany = false) {
    const waiting: Array<() => void> = []
    const after = (_: number, run: () => void) => {
      waiting.push(run)
      return () => {}
    }
    const clock = { ...stillClock(), after }
    const told: string[] = []
    const dialled: string[] = []
    const seen = new Neighbours(
      { lan },
      {
        clock,
        hasCompany: () => hasCompany,
        dial: (peer) => dialled.push(peer),
        notice: (message, action) => told.push(`${message} - ${action}`),
      },
    )
    const wait = () => {
      for (const run of waiting.splice(0)) run()
    }
    return { seen, told, dialled, clock, wait }
  }

  test('once, and not more than a few names, however many there are', () => {
    const { seen, told, dialled, wait } = neighbours('ask')
    const ids = Array.from({ length: 500 }, () => freshIdentity().peerId)
    for (const id of ids) seen.see(id, ['/ip4/192.168.1.2/tcp/1'])
    wait()
    for (const id of ids) seen.see(id, ['/ip4/192.168.1.2/tcp/1'])
    wait()
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(
      /^64 other nodes are on this network and not joined: .* and 61 more - `waggle join 12D3/,
    )
    expect(dialled).toEqual([])
    expect(ids.filter((id) => seen.has(id))).toHaveLength(64)
  })

  test('none if a peer was joined; dialled if the network is open; forgotten after a while', () => {
    const joined = neighbours('ask', true)
    joined.seen.see('a', ['/ip4/192.168.1.2/tcp/1'])
    joined.wait()
    expect(joined.told).toEqual([])
    joined.clock.time += 120_000
    expect(joined.seen.has('a')).toBe(false)
    const open = neighbours('open')
    open.seen.see('a', ['/ip4/192.168.1.2/tcp/1'])
    open.wait()
    expect([open.told, open.dialled]).toEqual([[], ['a']])
  })
})
