// Small parts of the swarm, without a network: quotas, reputation, queue, seen sets, peer records, recent frames,
// target, gate.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FreshQueue } from '../../daemon/swarm/admission/queue.ts'
import { Meter, Quota } from '../../daemon/swarm/admission/quota.ts'
import { LongMemory, SeenSet } from '../../daemon/swarm/admission/seen.ts'
import { SeenContent } from '../../daemon/swarm/admission/seen-content.ts'
import { RecentFrames } from '../../daemon/swarm/fetch/recent-frames.ts'
import { parseTarget } from '../../daemon/swarm/join/target.ts'
import { createGate } from '../../daemon/swarm/libp2p/gate.ts'
import { Handshakes } from '../../daemon/swarm/libp2p/handshakes.ts'
import { PeerRecords } from '../../daemon/swarm/peers/records.ts'
import { Reputation } from '../../daemon/swarm/peers/reputation.ts'
import { SwarmRecord } from '../../daemon/swarm/peers/swarm-record.ts'
import { freshDatastore, freshIdentity, stillClock, stopNodes } from './helpers.ts'

const MINUTE = 60_000

describe('quotas', () => {
  test('a burst, then the rate, whatever the clock does', () => {
    const clock = stillClock()
    const quota = new Quota({ rate: { perSecond: 10, burst: 5 } }, { clock })
    const taken = (n: number) => Array.from({ length: n }, () => quota.take('a')).filter(Boolean).length
    expect(taken(20)).toBe(5)
    clock.time += 300
    expect(taken(20)).toBe(3)
    clock.time -= 1_000_000
    expect(taken(20)).toBe(0)
    clock.time += 1_000_000_000
    expect(taken(20)).toBe(5)
    expect(quota.take('b')).toBe(true)
  })

  test('never let more through than burst and rate allow', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(500), fc.integer({ min: 1, max: 4 })), { maxLength: 200 }),
        (steps) => {
          const clock = stillClock()
          const start = clock.time
          const quota = new Quota({ rate: { perSecond: 7, burst: 9 } }, { clock })
          let through = 0
          for (const [ms, cost] of steps) {
            clock.time += ms
            if (quota.take('a', cost)) through += cost
            expect(through).toBeLessThanOrEqual(9 + (7 * (clock.time - start)) / 1000 + 1e-6)
          }
        },
      ),
    )
  })

  test('hold a limited number of keys', () => {
    const quota = new Quota({ rate: { perSecond: 1, burst: 1 }, keys: 3 }, { clock: stillClock() })
    for (const key of ['a', 'b', 'c']) expect(quota.take(key)).toBe(true)
    expect(quota.take('c')).toBe(false)
    quota.take('d')
    // `a` was forgotten to make room; `c` was used last and was not.
    expect(quota.take('c')).toBe(false)
    expect(quota.take('a')).toBe(true)
  })

  test('busy is dropped, a flood is a flood', () => {
    const meter = new Meter(
      { soft: { perSecond: 1, burst: 2 }, hard: { perSecond: 1, burst: 5 } },
      { clock: stillClock() },
    )
    expect(Array.from({ length: 6 }, () => meter.take('a'))).toEqual([
      'fine',
      'fine',
      'over',
      'over',
      'over',
      'flood',
    ])
  })
})

describe('reputation', () => {
  const make = () => {
    const clock = stillClock()
    const cuts: string[] = []
    const reputation = new Reputation({}, { clock, onCut: (peer, reason) => cuts.push(`${peer} ${reason}`) })
    return { clock, cuts, reputation }
  }

  test('four offences are forgiven in time, the fourth at once is not', () => {
    const { clock, cuts, reputation } = make()
    for (let i = 0; i < 3; i++) reputation.offend('a', 'reject')
    expect(reputation.score('a')).toBe(-15)
    clock.time += 10 * MINUTE
    expect(reputation.score('a')).toBeCloseTo(-7.5)
    reputation.offend('a', 'reject')
    expect(reputation.isCut('a')).toBe(false)
    reputation.offend('a', 'reject')
    reputation.offend('a', 'reject')
    expect(cuts).toEqual(['a reject'])
    expect(reputation.isCut('a')).toBe(true)
  })

  test('a quarter of an hour, then an hour, then a day', () => {
    const { clock, reputation } = make()
    for (const minutes of [15, 60, 24 * 60, 24 * 60]) {
      reputation.offend('a', 'flood')
      expect(reputation.isCut('a')).toBe(true)
      clock.time += minutes * MINUTE - 1
      expect(reputation.isCut('a')).toBe(true)
      clock.time += 1
      expect(reputation.isCut('a')).toBe(false)
    }
  })

  /** A peer was cut off while the clock was three years ahead. */
  const cutAhead = () => {
    const { clock, reputation } = make()
    const now = clock.time
    clock.time += 3 * 365 * 24 * 60 * MINUTE
    reputation.offend('a', 'flood')
    clock.time = now
    return reputation
  }

  test('a cut-off by a clock that was years ahead is over', () => {
    const reputation = cutAhead()
    expect(reputation.isCut('a')).toBe(false)
  })

  test('a peer that a clock years ahead cut off can be cut off again', () => {
    const reputation = cutAhead()
    reputation.offend('a', 'flood')
    expect(reputation.isCut('a')).toBe(true)
  })

  test('survives saving, without healing or growing', () => {
    const { clock, reputation } = make()
    reputation.offend('a', 'flood')
    reputation.offend('b', 'reject')
    reputation.mute('c', true)
    const again = new Reputation({}, { clock, onCut: () => {} })
    again.restore(JSON.parse(JSON.stringify(reputation.save())))
    expect(again.isCut('a')).toBe(true)
    expect(again.score('b')).toBe(-5)
    expect(again.isMuted('c')).toBe(true)
  })

  test('a crowd of new identities does not make a node forget whom it cut off', () => {
    const { reputation } = make()
    reputation.offend('a', 'flood')
    for (let i = 0; i < 5000; i++) reputation.offend(`sybil ${i}`, 'reject')
    expect(reputation.isCut('a')).toBe(true)
    expect(reputation.save().entries.length).toBeLessThanOrEqual(1024)
  })
})

test('cut-offs and seen contents survive a crash', async () => {
  const clock = stillClock()
  const datastore = await freshDatastore()
  const start = async () => {
    const seenContent = new SeenContent({}, { clock })
    const reputation = new Reputation({}, { clock, onCut: () => void memory.save() })
    const validator = { lastAdmittedAt: undefined }
    const memory = new SwarmRecord(
      {},
      { datastore, reputation, seenContent: seenContent, validator, clock, log: () => {} },
    )
    await memory.start()
    return { seenContent, reputation }
  }
  try {
    const first = await start()
    first.seenContent.wrote.add('ab'.repeat(32))
    first.seenContent.admit('author', 'cd'.repeat(32))
    first.reputation.mute('rude', true)
    first.reputation.offend('slow learner', 'reject')
    first.reputation.offend('flooder', 'flood')
    await expect.poll(async () => (await start()).reputation.isCut('flooder')).toBe(true)
    const { seenContent, reputation } = await start()
    expect(reputation.isMuted('rude')).toBe(true)
    expect(reputation.score('slow learner')).toBe(-5)
    expect(seenContent.isNew('author', 'ab'.repeat(32))).toBe(false)
    expect(seenContent.isNew('author', 'cd'.repeat(32))).toBe(false)
    expect(seenContent.isNew('another', 'cd'.repeat(32))).toBe(true)
  } finally {
    await stopNodes()
  }
})

test('a quiet node hardly writes, and what it wrote still covers every group that it may admit', async () => {
  const writes: { heard?: number; until?: number }[] = []
  const datastore = await freshDatastore()
  datastore.put = async (key, value) => {
    writes.push(JSON.parse(new TextDecoder().decode(value)))
    return key
  }
  let tick = () => {}
  const clock = Object.assign(stillClock(), {
    after: (_ms: number, run: () => void) => {
      tick = run
      return () => {}
    },
  })
  const validator: { lastAdmittedAt: number | undefined } = { lastAdmittedAt: undefined }
  const parts = {
    seenContent: new SeenContent({}, { clock }),
    reputation: new Reputation({}, { clock, onCut: () => {} }),
  }
  const memory = new SwarmRecord({}, { ...parts, datastore, validator, clock, log: () => {} })
  await memory.start()
  const quarterMinutes = async (count: number) => {
    for (let passed = 0; passed < count; passed++) {
      clock.time += 15_000
      tick()
      await new Promise(setImmediate)
      const { until } = writes.findLast((one) => one.until !== undefined)!
      expect(until! - clock.time, 'time until the next save').toBeGreaterThan(15_000)
    }
  }
  await quarterMinutes(4 * 60)
  expect(writes.length, 'in an hour').toBeLessThan(15)
  validator.lastAdmittedAt = clock.time + 1
  await quarterMinutes(1)
  expect(writes.at(-1)).toEqual({ heard: validator.lastAdmittedAt, until: clock.time + 30_000 })
  await memory.stop()
  expect(writes.at(-1)).toEqual({ heard: validator.lastAdmittedAt })
  await stopNodes()
})

describe('the queue', () => {
  const make = (items: number, bytes: number) => {
    const order: string[] = []
    const dropped: string[] = []
    const queue = new FreshQueue<{ name: string; bytes: number }>(
      { items, bytes, turnMs: 0 },
      {
        now: () => 0,
        work: ({ name }) => [order.push(name)].values(),
        dropped: ({ name }) => dropped.push(name),
        ownerOf: ({ name }) => name[0]!,
      },
    )
    return { queue, order, dropped }
  }

  test('serves the newest of each in turn, drops the oldest, and lets other work in between', async () => {
    const { queue, order, dropped } = make(5, 100)
    for (const name of ['m1', 'm2', 'm3', 'm4', 'a1', 'm5']) queue.push({ name, bytes: 10 })
    queue.push({ name: 'large', bytes: 60 })
    expect(dropped).toEqual(['m1', 'm2'])
    setImmediate(() => order.push('other'))
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(order).toEqual(['m5', 'other', 'a1', 'large', 'm4', 'm3'])
    queue.close()
    queue.push({ name: 'late', bytes: 1 })
    expect(queue.length).toBe(0)
  })

  test('drops groups of the peers that have the most waiting', () => {
    const { queue, dropped } = make(5, 1000)
    for (const name of ['a1', 'm1', 'm2', 'b1', 'm3', 'm4', 'm5', 'm6', 'b2']) queue.push({ name, bytes: 10 })
    expect(dropped).toEqual(['m1', 'm2', 'm3', 'm4'])
  })
})

describe('what was seen', () => {
  test('a set never forgets the newer half', () => {
    const seen = new SeenSet({ capacity: 100 })
    for (let i = 0; i < 1000; i++) {
      seen.add(`${i}`)
      for (let back = 0; back < Math.min(i, 50); back++) expect(seen.has(`${i - back}`)).toBe(true)
    }
    expect(seen.entries().length).toBeLessThanOrEqual(100)
    expect(seen.has('0')).toBe(false)
  })

  test('contents are remembered for their time whatever else comes in, and then make room', () => {
    const clock = stillClock()
    const memory = new LongMemory({ forMs: 60 * MINUTE }, { clock })
    for (let i = 0; i < 50; i++) memory.add(`first ${i}`)
    for (let i = 0; i < 140_000; i++) memory.add(`other ${i}`)
    for (let i = 0; i < 50; i++) expect(memory.has(`first ${i}`)).toBe(true)
    expect(
      Array.from({ length: 20_000 }, (_, i) => memory.has(`new ${i}`)).filter(Boolean).length,
    ).toBeLessThan(3)
    clock.time += 61 * MINUTE
    memory.add('late')
    expect(memory.has('first 0')).toBe(false)
    expect(memory.has('late')).toBe(true)
  })
})

test('peer records are bounded, and disconnected peers go first', () => {
  const records = new PeerRecords({ limit: 10 }, { clock: stillClock() })
  records.touch('friend').connected = true
  for (let i = 0; i < 100; i++) records.refuse(`sybil ${i}`, 'schema')
  expect(records.all().length).toBe(10)
  expect(records.get('friend')).toBeDefined()
  expect(records.refused.get('schema')).toBe(100)
  records.touch('useful').used = 1
  for (let i = 0; i < 100; i++) records.touch(`another ${i}`)
  expect(records.get('useful')).toBeDefined()
})

test('recent frames are kept while they are young and fit, and listed oldest first', () => {
  const clock = stillClock()
  const recentFrames = new RecentFrames({ maxBytes: 1000 }, { clock })
  const frame = (fill: number) => new Uint8Array(100).fill(fill)
  const hashes = Array.from({ length: 12 }, (_, i) => {
    clock.time += 1000
    return recentFrames.add(frame(i), i % 2 ? 'odd' : 'even')
  })
  expect(recentFrames.list(MINUTE, [])).toEqual(hashes.slice(2))
  expect(recentFrames.list(3500, [])).toEqual(hashes.slice(8))
  expect(recentFrames.list(MINUTE, ['odd'])).toEqual(hashes.filter((_, i) => i > 2 && i % 2))
  expect(recentFrames.get(hashes[11]!)).toEqual(frame(11))
  clock.time += 31 * MINUTE
  recentFrames.add(frame(99), 'odd')
  expect(recentFrames.list(60 * MINUTE, []).length).toBe(1)
})

test('targets: an ID, an address with and without one, and a relayed address', () => {
  const { peerId } = freshIdentity()
  const relay = freshIdentity().peerId
  const self = freshIdentity().peerId
  const parse = (text: string) => parseTarget(text, { self })
  expect(parse(` ${peerId}\n`)).toEqual({ peerId })
  expect(parse(`/ip4/10.0.0.1/tcp/1/p2p/${peerId}`)).toEqual({ peerId, address: '/ip4/10.0.0.1/tcp/1' })
  expect(parse('/dns4/example.org/tcp/4001')).toEqual({ address: '/dns4/example.org/tcp/4001' })
  const circuit = `/ip4/10.0.0.1/tcp/1/p2p/${relay}/p2p-circuit`
  expect(parse(`${circuit}/p2p/${peerId}`)).toEqual({ peerId, address: circuit })
  expect(parse(circuit)).toEqual({ address: circuit })
})

test('the gate refuses peers that are cut off or not listed, and everyone while it is closed or off', () => {
  const by = {
    isCut: (peer: string) => peer === 'bad',
    handshakes: new Handshakes(),
    admits: () => true,
    isWaiting: () => false,
    bandwidth: { isOff: false, track: () => {} },
  }
  const open = createGate({}, by)
  expect([open.denies('bad'), open.denies('good')]).toEqual([true, false])
  open.close(true)
  expect(open.denies('good')).toBe(true)
  open.close(false)
  by.bandwidth.isOff = true
  expect(open.denies('good')).toBe(true)
  by.bandwidth.isOff = false
  const listed = createGate({ allow: ['a', 'bad'] }, by)
  expect([listed.denies('a'), listed.denies('b'), listed.denies('bad')]).toEqual([false, true, true])
})
