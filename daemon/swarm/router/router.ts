// The home router of this network: the first gateway that answers and has a public address.

import { isPrivate } from '@libp2p/utils'
import { multiaddr } from '@multiformats/multiaddr'
import type { Clock } from '../types.ts'
import { Gateway } from './upnp-gateway.ts'
import { type Found, searchGateways } from './upnp-search.ts'

const SEARCH_MS = 3000

export interface Router {
  gateway: Gateway
  /** This machine's address on the router's network. */
  from: string
  /** The router's own address on the internet. */
  ip: string
}

export interface FindRouterParts {
  clock: Clock
  search?: typeof searchGateways
}

/** Throws an error that says why there is none. */
export async function findRouter(
  { from, signal }: { from: readonly string[]; signal: AbortSignal },
  { clock, search = searchGateways }: FindRouterParts,
): Promise<Router> {
  signal.throwIfAborted()
  const over = new AbortController()
  const cancel = clock.after(SEARCH_MS, () => over.abort())
  let trouble: unknown = new Error('no router on this network answers')
  const { promise: first, resolve } = Promise.withResolvers<Router>()
  const trials: Array<Promise<void>> = []
  const look = async (found: Found) => {
    try {
      const gateway = await Gateway.at(found.location, signal)
      resolve({ gateway, from: found.from, ip: await publicIp(gateway, signal) })
    } catch (error) {
      trouble = error
    }
  }
  const all = search(
    { from, signal: AbortSignal.any([over.signal, signal]) },
    { onFound: (found) => trials.push(look(found)) },
  ).then(() => Promise.all(trials))
  try {
    const router = await Promise.race([first, all])
    if ('gateway' in router) return router
    throw trouble
  } finally {
    cancel()
    over.abort()
  }
}

/** Behind a second router, a forwarded port leads nowhere. */
export async function publicIp(gateway: Gateway, signal: AbortSignal): Promise<string> {
  const ip = await gateway.externalIp(signal)
  if (isPrivate(multiaddr(`/ip4/${ip}/tcp/1`)))
    throw new Error(
      `the router’s own address, ${ip}, is not on the internet: there is another router in front of it`,
    )
  return ip
}
