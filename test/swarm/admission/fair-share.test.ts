// What a crowd can take away from others, and what not.

import { multiaddr } from '@multiformats/multiaddr'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { FairShare } from '../../../daemon/swarm/admission/fair-share.ts'
import { NewcomerQuota } from '../../../daemon/swarm/admission/newcomer-quota.ts'
import { ReadThrottle } from '../../../daemon/swarm/libp2p/read-throttle.ts'
import { createHost, startHost } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { draft, freshIdentity, startNode, stillClock, stopNodes, until } from '../helpers.ts'
import { bareHost } from '../libp2p/bare-host.ts'

const OPTIONS = { perSecond: 100, burstSeconds: 2, spare: 200 }

/** Asks in turns, each source so often a second, for some seconds; returns how many each got. */
function got(sources: Record<string, { perSecond: number; weight?: number }>, seconds: number) {
  const clock = stillClock()
  const share = new FairShare(OPTIONS, { clock })
  const taken = Object.fromEntries(Object.keys(sources).map((name) => [name, 0]))
  const STEPS = 1000
  for (let step = 0; step < seconds * STEPS; step++) {
    clock.time += 1000 / STEPS
    for (const [name, { perSecond, weight = 1 }] of Object.entries(sources))
      if (Math.floor(((step + 1) * perSecond) / STEPS) > Math.floor((step * perSecond) / STEPS))
        taken[name]! += share.take(name, weight) ? 1 : 0
  }
  return taken
}

describe('shares', () => {
  test('one source alone may use nearly all of it', () => {
    expect(got({ a: { perSecond: 90 } }, 20).a).toBeGreaterThanOrEqual(90 * 20 - 1)
  })

  test('a crowd of 200 that asks for ten times as much as there is does not stop a quiet one', () => {
    const crowd = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`sybil ${i}`, { perSecond: 5 }]))
    const { honest, ...others } = got({ ...crowd, honest: { perSecond: 0.4 } }, 60)
    expect(honest).toBeGreaterThanOrEqual(23)
    expect(Object.values(others).reduce((sum, count) => sum + count, 0)).toBeLessThan(100 * 60 + 400)
  })

  test('more trusted peers get a larger share', () => {
    const crowd = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`sybil ${i}`, { perSecond: 50 }]))
    const { known, 'sybil 7': stranger } = got({ ...crowd, known: { perSecond: 50, weight: 16 } }, 30)
    expect(known! / stranger!).toBeGreaterThan(10)
  })

  test('all peers together never get more than the total', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(40), fc.nat(9), fc.integer({ min: 1, max: 16 })), { maxLength: 400 }),
        (asks) => {
          const clock = stillClock()
          const start = clock.time
          const share = new FairShare(OPTIONS, { clock })
          let taken = 0
          for (const [ms, who, weight] of asks) {
            clock.time += ms
            if (share.take(`${who}`, weight)) taken++
            // What is spare, and what each may have saved up of its part.
            expect(taken).toBeLessThanOrEqual(200 + 200 + (100 * (clock.time - start)) / 1000 + 10 + 1e-6)
          }
        },
      ),
    )
  })

  test('a source without savings may take half of what is spare', () => {
    const share = new FairShare({ perSecond: 100, burstSeconds: 0, spare: 200 }, { clock: stillClock() })
    let taken = 0
    while (share.take('a')) taken++
    expect(taken).toBe(101)
  })

  test('a peer over its share waits longer the more others are over theirs', () => {
    const clock = stillClock()
    const share = new FairShare({ perSecond: 100, burstSeconds: 0, spare: 0 }, { clock })
    expect(share.owe('a', 11)).toBeCloseTo(100)
    for (let i = 0; i < 9; i++) share.owe(`b${i}`, 11)
    expect(share.owe('a', 0)).toBeCloseTo(1000)
    clock.time += 20_000
    expect(share.owe('a', 0)).toBe(0)
  })
})

test('newcomers get a limited number of places, and one that is silent loses its', () => {
  const clock = stillClock()
  const places = new NewcomerQuota({ count: 2, idleMs: 60_000 }, { clock })
  expect(['a', 'b', 'c', 'a'].map((id) => places.take(id))).toEqual([true, true, false, true])
  clock.time += 59_999
  expect(['a', 'c'].map((id) => places.take(id))).toEqual([true, false])
  clock.time += 1
  expect(['c', 'b', 'a'].map((id) => places.take(id))).toEqual([true, false, true])
  places.leave('a')
  expect(places.take('b')).toBe(true)
})

describe('the brake', () => {
  afterEach(stopNodes)

  test('nothing is read from a paused peer, and nothing is lost', async () => {
    const node = await startNode()
    const guard = {
      frame: () => true,
      rpc: () => true,
      malformed: () => {},
      oversize: () => {},
      busy: () => {},
      sent: () => {},
    }
    const host = await createHost(
      {
        swarm: 'test',
        topics: [],
        listen: [],
        announce: [],
        mdns: false,
        wide: false,
        upnp: false,
        relay: false,
        webrtc: false,
        maxConnections: 8,
      },
      {
        identity: freshIdentity(),
        gater: {},
        compareAddresses: () => 0,
        guard,
        stun: () => [],
        onFound: () => {},
        onMdnsTrouble: () => {},
        onMdnsWorks: () => {},
        forwarding: { clock: stillClock(), random: Math.random, log: () => {}, onForwarded: () => {} },
        dht: { clock: stillClock(), onMisuse: () => {} },
      },
    )
    await startHost(host, { listen: [] })
    try {
      const connection = await host.dial(multiaddr(node.address))
      const inner = (connection as unknown as { maConn: { readStatus: string } }).maConn
      let release = () => {}
      const clock = stillClock()
      const after = (_: number, run: () => void) => {
        release = run
        return () => {}
      }
      new ReadThrottle({}, { libp2p: host, clock: { now: () => clock.now(), after } }).slow(
        node.swarm.peerId,
        150,
      )
      expect(inner.readStatus).toBe('paused')
      let answered = false
      const answer = host.services.ping.ping(connection.remotePeer).then(() => {
        answered = true
      })
      // Another peer that asks later is answered, and again.
      const other = await bareHost({ topic: 'other' })
      const quick = await other.dial(multiaddr(node.address))
      for (let i = 0; i < 5; i++) await other.services.ping.ping(quick.remotePeer)
      await other.stop()
      expect(answered).toBe(false)
      clock.time += 150
      release()
      await answer
      expect(inner.readStatus).toBe('readable')
    } finally {
      await host.stop()
    }
  })

  test('a clock that is set back does not lengthen a pause', () => {
    const clock = stillClock()
    const due: (() => void)[] = []
    const line = { status: 'open', isPaused: false, pause() {}, resume() {} }
    line.pause = () => {
      line.isPaused = true
    }
    line.resume = () => {
      line.isPaused = false
    }
    const libp2p = { getConnections: () => [{ maConn: line }] } as never
    const after = (_: number, run: () => void) => {
      due.push(run)
      return () => {}
    }
    const throttle = new ReadThrottle({}, { libp2p, clock: { now: () => clock.now(), after } })
    throttle.slow(freshIdentity().peerId, 8000)
    expect(line.isPaused).toBe(true)
    clock.time += 8000 - 7_200_000
    due.shift()!()
    expect(line.isPaused).toBe(false)
  })

  test('a peer that sends 80 groups at once is not refused any', async () => {
    const a = await startNode()
    const b = await startNode()
    await b.swarm.join(a.address)
    await until('gossip', () => a.swarm.peers().some((peer) => peer.mesh))
    await Promise.all(Array.from({ length: 80 }, (_, seed) => a.swarm.publish(draft(seed))))
    await until('all groups', () => b.groups.length === 80, 30_000)
    // A joining node also fetches what it missed, so on a slow machine a group may reach it twice.
    const { duplicate: _, ...refused } = b.swarm.counters().refused
    expect(refused).toEqual({})
  })
})
