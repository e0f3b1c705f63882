// Limits that libp2p leaves open or sets too low, each against real hosts: pings, relays, a peer that stands still.

import { spawn } from 'node:child_process'
import { type AddressInfo, connect, createServer } from 'node:net'
import { RELAY_V2_HOP_CODEC } from '@libp2p/circuit-relay-v2'
import { multiaddr } from '@multiformats/multiaddr'
import { afterEach, expect, test } from 'vitest'
import { makePsk } from '../../../daemon/swarm/index.ts'
import type { SwarmNode } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { describe } from '../../../daemon/swarm/links/redial.ts'
import { BULK_PROTOCOL } from '../../../protocol/wire/index.ts'
import { Child } from '../../../scripts/bench/swarm/processes/parent.ts'
import { freshDatastore, freshIdentity, startNode, stopNodes, until } from '../helpers.ts'
import { startRawAttacker, stopAttackers } from '../hostile/attacker.ts'
import { type BareHostOptions, bareHost, fastClock } from './bare-host.ts'

const TOPIC = '/waggle/1/limits/groups'
const PING = '/ipfs/ping/1.0.0'
const stops: Array<() => unknown> = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
  await stopAttackers()
  await stopNodes()
})

async function host(options: Omit<BareHostOptions, 'topic'> = {}): Promise<SwarmNode> {
  const made = await bareHost({ ...options, topic: TOPIC })
  stops.push(() => made.stop())
  return made
}

test('four pings at once are answered, and no more; the connection goes on', async () => {
  const node = await startNode()
  const { node: attacker } = await startRawAttacker(node.address)
  const [connection] = attacker.getConnections()
  const opened = await Promise.allSettled(Array.from({ length: 12 }, () => connection!.newStream(PING)))
  const streams = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  await until('the refusals', () => streams.filter(({ status }) => status === 'open').length <= 4)
  const [kept] = streams.filter(({ status }) => status === 'open')
  const echo = new Promise<Uint8Array>((resolve) =>
    kept!.addEventListener('message', ({ data }) => resolve(data.subarray())),
  )
  kept!.send(new Uint8Array(32).fill(7))
  expect(Buffer.from(await echo).equals(Buffer.alloc(32, 7))).toBe(true)
  expect(connection!.status).toBe('open')
})

test('one of libp2p’s own pings that fails does not cost the connection', async () => {
  const { components } = (await host()) as unknown as {
    components: { connectionMonitor: { abortConnectionOnPingFailure: boolean } }
  }
  expect(components.connectionMonitor.abortConnectionOnPingFailure).toBe(false)
})

test('an address where nobody answers is given up after 2.5 seconds; a busy peer has longer for its handshakes', async () => {
  const node = await host()
  const busy = createServer(() => {})
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
  stops.push(() => busy.close())
  const ended: string[] = []
  const dial = async (port: number) => {
    const stop = new AbortController()
    stops.push(() => stop.abort())
    await node
      .dial(multiaddr(`/ip4/127.0.0.1/tcp/${port}`), { signal: stop.signal })
      .catch((error: Error) => {
        ended.push(describe(error))
      })
  }
  void dial((busy.address() as AddressInfo).port)
  await dial(await deafPort())
  expect(ended).toEqual(['no answer in time'])
})

/** A port of a process that stands still, and whose queue of connections is full: the kernel answers nobody. */
async function deafPort(): Promise<number> {
  const script =
    "require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port) })"
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  stops.push(() => child.kill('SIGKILL'))
  const port = Number(await new Promise((resolve) => child.stdout.once('data', resolve)))
  child.kill('SIGSTOP')
  const fillers = Array.from({ length: 4 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => {}))
  stops.push(() => fillers.forEach((one) => void one.destroy()))
  await new Promise((resolve) => fillers[0]!.once('connect', resolve))
  return port
}

test('a peer that was pruned from the mesh may come back after ten seconds', async () => {
  const { opts } = (await host()).services.pubsub as unknown as { opts: { pruneBackoff: number } }
  // The default of a minute keeps who was away out for that long.
  expect(opts.pruneBackoff).toBe(10_000)
})

test('a private swarm’s key, which protects TCP only, excludes other transports', async () => {
  const options = { psk: makePsk(), webrtc: true, wide: true }
  await expect(startNode(options)).rejects.toMatchObject({ code: 'E_CONFIG' })
})

test('nodes of the bootstrap list are dialled at every start', async () => {
  const { address, swarm } = await startNode()
  const datastore = await freshDatastore()
  const identity = freshIdentity()
  for (let start = 0; start < 2; start++) {
    const node = await startNode({ bootstrap: [address] }, { datastore, identity })
    await until('the link', () => node.swarm.counters().connected === 1)
    await node.swarm.stop()
    await until('its end', () => swarm.counters().connected === 0)
  }
})

async function throughRelay() {
  const relay = await host({ relay: true, wide: true })
  const hidden = await host({ wide: true, listen: [] })
  const other = await host({ wide: true })
  await hidden.dial(relay.getMultiaddrs())
  await until('a reservation', () =>
    hidden.getMultiaddrs().some((address) => String(address).includes('/p2p-circuit')),
  )
  const way = `${relay.getMultiaddrs()[0]}/p2p-circuit/p2p/${hidden.peerId}`
  return { relay, hidden, connection: await other.dial(multiaddr(way)) }
}

test('a relayed connection carries a megabyte, and no bulk', async () => {
  const { hidden, connection } = await throughRelay()
  expect(connection.limits).toBeDefined()
  await expect(connection.newStream(BULK_PROTOCOL)).rejects.toMatchObject({ name: 'LimitedConnectionError' })
  let got = 0
  const take = { runOnLimitedConnection: true }
  await hidden.handle(
    '/test/1',
    (stream) => {
      stream.addEventListener('message', ({ data }) => {
        got += data.byteLength
      })
    },
    take,
  )
  const stream = await connection.newStream('/test/1', take)
  const sendPieces = async (count: number): Promise<void> => {
    for (let i = 0; i < count && stream.status === 'open'; i++)
      if (!stream.send(new Uint8Array(65_536)))
        await new Promise<void>((resolve) => {
          stream.addEventListener('drain', () => resolve(), { once: true })
          stream.addEventListener('close', () => resolve(), { once: true })
        })
  }
  // What is still on its way when the relay ends it is lost.
  await sendPieces(8)
  await until('half a megabyte', () => got === 8 * 65_536)
  await sendPieces(24)
  await until('the relay to end it', () => connection.status !== 'open')
  expect(got).toBeLessThanOrEqual(1 << 20)
})

test('only a relay relays', async () => {
  const node = await host({ wide: true })
  const other = await host()
  const connection = await other.dial(node.getMultiaddrs())
  await expect(connection.newStream(RELAY_V2_HOP_CODEC)).rejects.toMatchObject({
    name: 'UnsupportedProtocolError',
  })
})

test('a peer that stands still for 25 seconds is not given up, and its groups come when it goes on', async () => {
  const still = new Child()
  stops.push(() => still.kill())
  const { address, peerId } = await still.start(0)
  const clock = fastClock(1)
  const node = await startNode({ maxCompletionTokens: 100_000 }, { clock })
  await node.swarm.join(address)
  const linked = () => node.swarm.peers().some(({ id, mesh }) => id === peerId && mesh)
  await until('the link', linked)
  still.process.kill('SIGSTOP')
  clock.rate = 40
  const stopped = clock.now()
  await until('25 seconds', () => clock.now() - stopped > 25_000)
  expect(node.swarm.peers().find(({ id }) => id === peerId)).toMatchObject({ wanted: true, score: 0 })
  clock.rate = 1
  still.process.kill('SIGCONT')
  for (let seed = 1; node.groups.length === 0; seed++) {
    expect(seed).toBeLessThan(100)
    still.tell({ do: 'publish', node: 0, seed, bytes: 2000 })
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await until('the link again', linked)
}, 40_000)
