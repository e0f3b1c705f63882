// A node that may take any free port takes the one that it had before.

import { createServer, type Server } from 'node:net'
import { Key } from 'interface-datastore'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { keepPorts, usualPorts } from '../../../daemon/swarm/addresses/usual-ports.ts'
import { freshDatastore, freshIdentity, startNode, stopNodes } from '../helpers.ts'

afterEach(stopNodes)

const ANY = ['/ip4/0.0.0.0/tcp/0', '/ip6/::/tcp/0']
const LISTENING = ['/ip4/127.0.0.1/tcp/40001', '/ip4/192.0.2.7/tcp/40001', '/ip6/::1/tcp/40002']

describe('any free port', () => {
  const isFree = async () => true

  test('is the one of the last time, for each address', async () => {
    const datastore = await freshDatastore()
    await keepPorts(ANY, LISTENING, { datastore })
    expect(await usualPorts(ANY, { datastore, isFree })).toEqual([
      '/ip4/0.0.0.0/tcp/40001',
      '/ip6/::/tcp/40002',
    ])
  })

  test('is any the first time, and without records', async () => {
    expect(await usualPorts(ANY, { datastore: await freshDatastore(), isFree })).toEqual(ANY)
    expect(await usualPorts(ANY, { datastore: undefined, isFree })).toEqual(ANY)
  })

  test('is another if another program took that one', async () => {
    const datastore = await freshDatastore()
    await keepPorts(ANY, LISTENING, { datastore })
    const taken = async (_: string, port: number) => port !== 40001
    expect(await usualPorts(ANY, { datastore, isFree: taken })).toEqual([
      '/ip4/0.0.0.0/tcp/0',
      '/ip6/::/tcp/40002',
    ])
  })

  test('is asked of this machine', async () => {
    const datastore = await freshDatastore()
    const server = await new Promise<Server>((resolve) => {
      const made = createServer().listen(0, '127.0.0.1', () => resolve(made))
    })
    const { port } = server.address() as { port: number }
    const local = ['/ip4/127.0.0.1/tcp/0']
    await keepPorts(local, [`/ip4/127.0.0.1/tcp/${port}`], { datastore })
    expect(await usualPorts(local, { datastore })).toEqual(local)
    await new Promise((resolve) => server.close(resolve))
    expect(await usualPorts(local, { datastore })).toEqual([`/ip4/127.0.0.1/tcp/${port}`])
  })

  test('is any if the record is damaged', async () => {
    const datastore = await freshDatastore()
    await datastore.put(new Key('/waggle/ports'), Buffer.from('{"/ip4/0.0.0.0/tcp/0":99999}'))
    expect(await usualPorts(ANY, { datastore, isFree })).toEqual(ANY)
  })
})

test('a port or a transport that was asked for stays', async () => {
  const datastore = await freshDatastore()
  const given = ['/ip4/0.0.0.0/tcp/4001', '/memory/1']
  await keepPorts(given, ['/ip4/127.0.0.1/tcp/4001'], { datastore })
  expect(await usualPorts(given, { datastore, isFree: async () => true })).toEqual(given)
})

test('two nodes that both restart find each other again', async () => {
  const kept = await Promise.all(
    [0, 1].map(async () => ({ identity: freshIdentity(), datastore: await freshDatastore() })),
  )
  const [a, b] = await Promise.all(kept.map((parts) => startNode({}, parts)))
  await a!.swarm.join(b!.address)
  await Promise.all([a!.swarm.stop(), b!.swarm.stop()])
  const again = await Promise.all(kept.map((parts) => startNode({}, parts)))
  expect(again.map(({ address }) => address)).toEqual([a!.address, b!.address])
  await vi.waitFor(() => expect(again[0]!.swarm.counters().connected).toBe(1), { timeout: 10_000 })
})
