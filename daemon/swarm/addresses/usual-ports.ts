// Port 0 is any free port. This node takes the one that it had the last time, if it is still free: peers know its address
// from then, and two nodes that restart would otherwise not find each other again.

import { createServer } from 'node:net'
import { multiaddr } from '@multiformats/multiaddr'
import { type Datastore, Key } from 'interface-datastore'
import { z } from 'zod'

const KEY = new Key('/waggle/ports')
/** By the address that was asked for. */
const ports = z.record(z.string().max(256), z.int().min(1).max(65535))

interface UsualPortsParts {
  datastore: Datastore | undefined
  isFree?(host: string, port: number): Promise<boolean>
}

/** These addresses, with the ports of the last time where any port will do. */
export async function usualPorts(
  listen: readonly string[],
  { datastore, isFree = isFreeHere }: UsualPortsParts,
): Promise<string[]> {
  const known = await read(datastore)
  return await Promise.all(
    listen.map(async (address) => {
      const [host, port] = [hostOf(address), known[address]]
      const isUsual = host !== undefined && port !== undefined && (await isFree(host, port))
      return isUsual ? address.replace(/\/tcp\/0$/, `/tcp/${port}`) : address
    }),
  )
}

/** Remembers for the next time which ports were taken. `listening`: multiaddrs. */
export async function keepPorts(
  listen: readonly string[],
  listening: readonly string[],
  { datastore }: Pick<UsualPortsParts, 'datastore'>,
): Promise<void> {
  const kept = listen.flatMap((address) => {
    const family = hostOf(address) && multiaddr(address).getComponents()[0]?.name
    const port = listening
      .map((text) => multiaddr(text).getComponents())
      .find(([ip, tcp]) => ip?.name === family && tcp?.name === 'tcp')?.[1]?.value
    return family === undefined || port === undefined ? [] : [[address, Number(port)] as const]
  })
  if (kept.length === 0) return
  try {
    await datastore?.put(KEY, Buffer.from(JSON.stringify(Object.fromEntries(kept))))
  } catch {
    // The next port is another.
  }
}

/** Undefined if the port is given, or is not one of TCP. */
function hostOf(address: string): string | undefined {
  return address.match(/^\/ip[46]\/([^/]+)\/tcp\/0$/)?.[1]
}

async function read(datastore: Datastore | undefined): Promise<Record<string, number>> {
  try {
    if (!datastore || !(await datastore.has(KEY))) return {}
    return ports.parse(JSON.parse(Buffer.from(await datastore.get(KEY)).toString()))
  } catch {
    return {}
  }
}

function isFreeHere(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
