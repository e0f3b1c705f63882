import { defaultLogger } from '@libp2p/logger'
import { AbstractMultiaddrConnection, type SendResult } from '@libp2p/utils'
import { multiaddr } from '@multiformats/multiaddr'
import type { Uint8ArrayList } from 'uint8arraylist'
import { afterEach, expect, test } from 'vitest'
import { Bandwidth, UNLIMITED } from '../../../daemon/swarm/bandwidth/bandwidth.ts'
import { Pace } from '../../../daemon/swarm/bandwidth/pace.ts'
import { Publisher } from '../../../daemon/swarm/gossip/publisher.ts'
import {
  codec,
  draft,
  freshDatastore,
  freshIdentity,
  startNode,
  stopNodes,
  until,
  worldClock,
} from '../helpers.ts'

const NOVEMBER = new Date(2026, 10, 23, 12).getTime()
const DECEMBER = new Date(2026, 11, 1, 0, 0, 1).getTime()

afterEach(stopNodes)

/** A clock whose time a test moves; what falls due runs in order, and promises in between. */
function virtualClock(time = NOVEMBER) {
  let due: { at: number; run: () => void }[] = []
  return {
    now: () => time,
    after(ms: number, run: () => void) {
      const entry = { at: time + ms, run }
      due.push(entry)
      return () => {
        due = due.filter((one) => one !== entry)
      }
    },
    async pass(ms: number) {
      const end = time + ms
      for (;;) {
        await new Promise(setImmediate)
        due.sort((a, b) => a.at - b.at)
        const next = due[0]
        if (next === undefined || next.at > end) break
        due.shift()
        time = next.at
        next.run()
      }
      time = end
    },
  }
}

/** A connection of libp2p over no socket. */
class Line extends AbstractMultiaddrConnection {
  sent = 0
  received = 0
  isReading = true

  constructor(address = '/ip4/192.0.2.7/tcp/4001') {
    super({
      remoteAddr: multiaddr(address),
      direction: 'outbound',
      log: defaultLogger().forComponent('line'),
    } as never)
    this.addEventListener('message', ({ data }) => {
      this.received += data.byteLength
    })
  }

  sendData(data: Uint8ArrayList): SendResult {
    this.sent += data.byteLength
    return { sentBytes: data.byteLength, canSendMore: true }
  }
  async sendClose(): Promise<void> {}
  sendReset(): void {}
  sendPause(): void {
    this.isReading = false
  }
  sendResume(): void {
    this.isReading = true
  }
}

async function make(
  limits: Partial<typeof UNLIMITED>,
  datastore?: Awaited<ReturnType<typeof freshDatastore>>,
) {
  const clock = virtualClock()
  const live = { ...UNLIMITED, ...limits }
  const turns: boolean[] = []
  const bandwidth = new Bandwidth(
    { limits: () => live },
    { clock, datastore, log: () => {}, onOff: (isOff) => turns.push(isOff) },
  )
  await bandwidth.start()
  const lines = [new Line(), new Line()] as const
  for (const line of lines) bandwidth.track(line)
  return { bandwidth, clock, live, turns, lines }
}

test('all connections together send no more than the limit, and everything arrives in the end', async () => {
  const { bandwidth, clock, live, lines } = await make({ up_kb_per_second: 100 })
  for (const line of lines) line.send(new Uint8Array(500_000))
  const sent = () => lines[0].sent + lines[1].sent
  expect(bandwidth.isBehind).toBe(false)
  await clock.pass(5000)
  expect(bandwidth.isBehind).toBe(true)
  // A second's worth went at once, and a piece of 16 KiB may go beyond.
  expect(sent()).toBeGreaterThan(550_000)
  expect(sent()).toBeLessThan(600_000 + 2 * 16_384)
  expect(Math.min(lines[0].sent, lines[1].sent)).toBeGreaterThan(200_000)
  expect(bandwidth.use().holds).toMatchObject([
    { limit: 'up_kb_per_second', since: NOVEMBER, reason: expect.stringContaining('100') },
  ])
  await clock.pass(5000)
  expect(sent()).toBe(1_000_000)
  expect(bandwidth.isBehind).toBe(false)
  await clock.pass(11_000)
  expect(bandwidth.use().holds).toEqual([])
  live.up_kb_per_second = 0
  lines[0].send(new Uint8Array(900_000))
  expect(sent()).toBe(1_900_000)
})

test('reading pauses on all connections while more has come than the limit allows', async () => {
  const { bandwidth, clock, live, lines } = await make({ down_kb_per_second: 100 })
  const [a, b] = lines
  /** A peer that sends whenever it can, for this long. */
  const flood = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      for (const line of lines) if (line.isReading) line.onData(new Uint8Array(20_000))
      await clock.pass(100)
    }
  }
  await flood(10_000)
  const received = a.received + b.received
  expect(received).toBeGreaterThan(900_000)
  expect(received).toBeLessThan(1_150_000)
  expect(bandwidth.use().holds).toMatchObject([{ limit: 'down_kb_per_second' }])
  live.down_kb_per_second = 0
  await clock.pass(3000)
  expect([a.isReading, b.isReading]).toEqual([true, true])
  await flood(1000)
  expect(a.received + b.received - received).toBe(400_000)
  expect(bandwidth.use().holds).toEqual([])
})

test('a clock that is set back does not lengthen the wait before more is sent', () => {
  const pace = new Pace()
  pace.spend(300_000, 100_000, NOVEMBER)
  expect(pace.waitMs(100_000, NOVEMBER)).toBe(2000)
  const back = NOVEMBER - 7_200_000
  expect([0, 500, 2000].map((passed) => pace.waitMs(100_000, back + passed))).toEqual([2000, 1500, 0])
})

test('a connection through a relay is counted once, at the connection to the relay', async () => {
  const { bandwidth } = await make({})
  const relayed = new Line('/ip4/192.0.2.7/tcp/4001/p2p-circuit')
  bandwidth.track(relayed)
  relayed.send(new Uint8Array(1000))
  expect([relayed.sent, bandwidth.use().monthBytes]).toEqual([1000, 0])
})

test("when the month's bytes are used up the network is off, over restarts, until the next month or a higher limit", async () => {
  const datastore = await freshDatastore()
  const first = await make({ network_gb_per_month: 0.001 }, datastore)
  first.lines[0].send(new Uint8Array(600_000))
  expect(first.bandwidth.isOff).toBe(false)
  first.lines[1].onData(new Uint8Array(400_000))
  await first.clock.pass(0)
  expect([first.bandwidth.isOff, first.turns]).toEqual([true, [true]])
  expect(first.bandwidth.use()).toMatchObject({
    monthBytes: 1_000_000,
    holds: [{ limit: 'network_gb_per_month', since: NOVEMBER }],
  })
  await first.bandwidth.stop()

  const again = await make({ network_gb_per_month: 0.001 }, datastore)
  await again.clock.pass(0)
  expect([again.bandwidth.isOff, again.turns]).toEqual([true, [true]])
  again.live.network_gb_per_month = 1
  await again.clock.pass(60_000)
  expect([again.bandwidth.isOff, again.turns, again.bandwidth.use().holds]).toEqual([
    false,
    [true, false],
    [],
  ])
  again.live.network_gb_per_month = 0.001
  await again.clock.pass(60_000)
  expect(again.turns).toEqual([true, false, true])
  await again.clock.pass(DECEMBER - again.clock.now() + 60_000)
  expect([again.bandwidth.isOff, again.bandwidth.use().monthBytes]).toEqual([false, 0])
  expect(again.turns.at(-1)).toBe(false)
  await again.bandwidth.stop()
})

test('between real nodes, bytes are counted on both sides, and a limit that is used up disconnects them', async () => {
  const limits = { ...UNLIMITED, up_kb_per_second: 100, down_kb_per_second: 100 }
  const a = await startNode({ limits: () => limits })
  const b = await startNode({}, { identity: freshIdentity(), clock: worldClock })
  await b.swarm.join(a.address)
  await until('bytes', () => a.swarm.network().monthBytes > 1000 && b.swarm.network().monthBytes > 1000)
  limits.network_gb_per_month = 1e-7
  await until('the end of the connection', () => a.swarm.peers().every(({ connected }) => !connected))
  expect(a.swarm.network().holds).toMatchObject([{ limit: 'network_gb_per_month' }])
})

test('a node with much to send keeps its own groups', async () => {
  let isBehind = false
  let sent = 0
  const publisher = new Publisher(
    {},
    {
      identity: freshIdentity(),
      codec,
      gossip: { publish: async () => ++sent },
      admission: { sent: () => {} } as never,
      recentFrames: { add: () => 'ab'.repeat(32) } as never,
      clock: worldClock,
      isBehind: () => isBehind,
    },
  )
  await publisher.publish(draft(1))
  isBehind = true
  expect(await publisher.publish(draft(2))).toMatchObject({ recipients: 0 })
  expect(sent).toBe(1)
})
