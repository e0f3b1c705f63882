// The home router of this network: the first gateway that answers by UPnP, PCP or NAT-PMP and has a public address.

import { isPrivate } from '@libp2p/utils'
import { multiaddr } from '@multiformats/multiaddr'
import type { IpPort } from '../addresses/outside-addresses.ts'
import type { Clock } from '../types.ts'
import { defaultGateways, type Hop, networksHere } from './default-gateway.ts'
import type { Gateway } from './gateway.ts'
import { PcpGateway, Silence } from './pcp-gateway.ts'
import { UpnpGateway } from './upnp-gateway.ts'
import { type Found, searchGateways } from './upnp-search.ts'

const SEARCH_MS = 3000

export interface Router {
  gateway: Gateway
  /** This machine's address on the router's network. */
  from: string
  /** The router's external address. */
  ip: string
}

export interface FindRouterParts {
  clock: Clock
  search?: typeof searchGateways
  /** The routers to ask by PCP; `pcpPort` is the UDP port if not the standard one. */
  hops?: (from: readonly string[]) => Promise<readonly Hop[]>
  pcpPort?: number
}

/** `own` lists the addresses and ports to forward. Rejects with an error that says why there is no router. */
export async function findRouter(
  { own, signal }: { own: readonly IpPort[]; signal: AbortSignal },
  { clock, search = searchGateways, hops = hopsHere, pcpPort }: FindRouterParts,
): Promise<Router> {
  signal.throwIfAborted()
  const from = [...new Set(own.map(({ ip }) => ip))]
  const over = new AbortController()
  const cancel = clock.after(SEARCH_MS, () => over.abort())
  let trouble: unknown = new Error('no router on this network answers')
  const { promise: first, resolve } = Promise.withResolvers<Router>()
  const trials: Array<Promise<void>> = []
  const look = async (from: string, open: () => Promise<Gateway>) => {
    try {
      const gateway = await open()
      resolve({ gateway, from, ip: await publicIp(gateway, signal) })
    } catch (error) {
      if (!(error instanceof Silence)) trouble = error
    }
  }
  const lookAt = (found: Found) => look(found.from, () => UpnpGateway.at(found.location, { clock, signal }))
  const askAt = (hop: Hop) => {
    const { port: internalPort } = own.find(({ ip }) => ip === hop.from)!
    return look(hop.from, () => PcpGateway.at(hop, { internalPort, signal, port: pcpPort }))
  }
  const asked = hops(from).then((all) => Promise.all(all.map(askAt)))
  const all = search(
    { from, signal: AbortSignal.any([over.signal, signal]) },
    { onFound: (found) => trials.push(lookAt(found)) },
  )
    .then(() => Promise.all(trials))
    .then(() => asked)
  try {
    const router = await Promise.race([first, all])
    if ('gateway' in router) return router
    throw trouble
  } finally {
    cancel()
    over.abort()
  }
}

async function hopsHere(from: readonly string[]): Promise<Hop[]> {
  return defaultGateways(from, await networksHere())
}

/** The router's external address. Rejects if it is private: behind a second router, a forwarded port leads nowhere. */
export async function publicIp(gateway: Gateway, signal: AbortSignal): Promise<string> {
  const ip = await gateway.externalIp(signal)
  if (isPrivate(multiaddr(`/ip4/${ip}/tcp/1`)))
    throw new Error(
      `the router’s own address, ${ip}, is not on the internet: there is another router in front of it`,
    )
  return ip
}
