// The libp2p host of a node, with its settings and nothing of ours on top: for tests of what those settings are there for.

import { compareAddresses } from '../../../daemon/swarm/addresses/address-order.ts'
import type { GossipGuard } from '../../../daemon/swarm/gossip/internals.ts'
import {
  createHost,
  type HostParts,
  type SwarmNode,
  startHost,
} from '../../../daemon/swarm/libp2p/swarm-node.ts'
import type { Clock } from '../../../daemon/swarm/types.ts'
import { freshIdentity, worldClock } from '../groups.ts'

const LOOPBACK = ['/ip4/127.0.0.1/tcp/0']
/** Lets everything through. */
export const OPEN_GUARD: GossipGuard = {
  frame: () => true,
  rpc: () => true,
  malformed: () => {},
  oversize: () => {},
  sent: () => {},
  busy: () => {},
}

export interface BareHostOptions
  extends Partial<Pick<HostParts, 'identity' | 'datastore' | 'guard' | 'onMdnsTrouble' | 'onMdnsWorks'>> {
  topic: string
  listen?: readonly string[]
  wide?: boolean
  relay?: boolean
  mdns?: boolean
}

/** Started, and subscribed to the topic. Stopped by who made it. */
export async function bareHost({
  topic,
  listen = LOOPBACK,
  wide = false,
  relay = false,
  mdns = false,
  identity = freshIdentity(),
  datastore,
  guard = OPEN_GUARD,
  onMdnsTrouble = () => {},
  onMdnsWorks = () => {},
}: BareHostOptions): Promise<SwarmNode> {
  const host = await createHost(
    {
      swarm: 'bare',
      topics: [topic],
      listen,
      announce: [],
      mdns,
      wide,
      upnp: false,
      relay,
      webrtc: false,
      maxConnections: 32,
    },
    {
      identity,
      ...(datastore && { datastore }),
      gater: {},
      compareAddresses: compareAddresses([]),
      guard,
      stun: () => [],
      onFound: () => {},
      onMdnsTrouble,
      onMdnsWorks,
      forwarding: { clock: worldClock, random: Math.random, log: () => {}, onForwarded: () => {} },
      dht: { clock: worldClock, onMisuse: () => {} },
    },
  )
  await startHost(host, { listen })
  host.services.pubsub.subscribe(topic)
  return host
}

/** Real time, so many times as fast as the hands say. */
export function fastClock(rate: number): Clock & { rate: number } {
  let at = performance.now()
  let time = Date.now()
  let speed = rate
  const now = () => {
    const real = performance.now()
    time += (real - at) * speed
    at = real
    return time
  }
  return {
    now,
    get rate() {
      return speed
    },
    set rate(next) {
      now()
      speed = next
    },
    after(ms, run) {
      const timer = setTimeout(run, ms / speed)
      return () => clearTimeout(timer)
    },
  }
}
