// A swarm's DHT finds peers by ID and takes nothing else. Real hosts on loopback; the hostile one speaks the DHT's
// protocol by hand.

import type { KadDHT } from '@libp2p/kad-dht'
import { lpStream } from '@libp2p/utils'
import { Key } from 'interface-datastore'
import { afterEach, expect, test } from 'vitest'
import { freshDatastore, freshIdentity, startNode, stopNodes, until } from '../helpers.ts'
import { startRawAttacker, stopAttackers } from '../hostile/attacker.ts'
import { bareHost } from './bare-host.ts'

const PROTOCOL = '/waggle/1/test/kad/1.0.0'

afterEach(async () => {
  await stopAttackers()
  await stopNodes()
})

const field = (number: number, bytes: Uint8Array): Buffer => {
  const length: number[] = []
  for (let rest = bytes.length; ; rest >>>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest)
    if (rest <= 127) break
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes])
}
/** Message { type, key, record { key, value } } of the Kademlia protocol. */
function putValue(key: string, size: number): Buffer {
  const name = Buffer.from(key)
  const record = Buffer.concat([field(1, name), field(2, Buffer.alloc(size, 7))])
  return Buffer.concat([Buffer.from([0x08, 0]), field(2, name), field(3, record)])
}

async function bytesUnder(datastore: Awaited<ReturnType<typeof freshDatastore>>, prefix: string) {
  let bytes = 0
  for await (const { value } of datastore.query({ prefix })) bytes += value.length
  return bytes
}

test('records that a peer puts are not stored, and the peer is cut off', async () => {
  const datastore = await freshDatastore()
  const victim = await startNode({ wide: true }, { datastore })
  for (const size of [100, 1 << 20]) {
    const { node } = await startRawAttacker(victim.address)
    const [connection] = node.getConnections()
    for (let i = 0; i < 8 && connection!.status === 'open'; i++) {
      try {
        const stream = await connection!.newStream(PROTOCOL)
        await lpStream(stream).write(putValue(`/anything/${i}`, size), { signal: AbortSignal.timeout(2000) })
      } catch {
        // Cut off.
      }
    }
    await until('the cut', () => connection!.status !== 'open')
  }
  expect(await bytesUnder(datastore, '/dht')).toBe(0)
})

test('records that an earlier version kept are removed', async () => {
  const datastore = await freshDatastore()
  await datastore.put(new Key('/dht/record/abc'), Buffer.alloc(1000))
  await datastore.put(new Key('/dht/provider/abc/def'), Buffer.alloc(10))
  await startNode({ wide: true }, { datastore })
  expect(await bytesUnder(datastore, '/dht')).toBe(0)
})

test('peers are still found by their ID', async () => {
  const hub = await startNode({ wide: true })
  const a = await startNode({ wide: true })
  const b = await startNode({ wide: true })
  await a.swarm.join(hub.address)
  await b.swarm.join(hub.address)
  expect(await b.swarm.join(a.swarm.peerId, { signal: AbortSignal.timeout(8000) })).toMatchObject({
    state: 'connected',
  })
})

test('kad-dht’s inside is where it is expected', async () => {
  const host = await bareHost({ topic: '/waggle/1/bare/groups', wide: true, identity: freshIdentity() })
  try {
    const { rpc } = (host.services as unknown as { dht: KadDHT & { rpc: { handlers: object } } }).dht
    expect(Object.keys(rpc.handlers).sort()).toEqual([
      'ADD_PROVIDER',
      'FIND_NODE',
      'GET_PROVIDERS',
      'GET_VALUE',
      'PING',
      'PUT_VALUE',
    ])
    expect(host.getProtocols()).toContain('/waggle/1/bare/kad/1.0.0')
  } finally {
    await host.stop()
  }
})
