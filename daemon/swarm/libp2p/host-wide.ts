// What a swarm needs beyond one local network: a DHT of its own to find peers by ID, relays for nodes behind NATs and the
// upgrade from relayed to direct, the test whether this node can be reached, and port forwarding. All of it idles as long
// as nobody is joined. Loaded only where it is wanted.

import { autoNAT } from '@libp2p/autonat'
import { circuitRelayServer, circuitRelayTransport } from '@libp2p/circuit-relay-v2'
import { dcutr } from '@libp2p/dcutr'
import { passthroughMapper } from '@libp2p/kad-dht'
import { type Components, PortForwarding, type PortForwardingParts } from '../router/port-forwarding.ts'
import { type DhtParts, lookupDht } from './dht.ts'

export interface WideOptions {
  swarm: string
  relay: boolean
  upnp: boolean
  webrtc: boolean
}

/** Bytes and time of one relayed connection. Gossip goes through the relay as a peer; this carries hellos and dials. */
const RELAY_LIMITS = {
  maxReservations: 128,
  defaultDataLimit: 1n << 20n,
  defaultDurationLimit: 10 * 60_000,
}

export function wideServices(
  { swarm, relay, upnp }: WideOptions,
  by: { forwarding: PortForwardingParts; dht: DhtParts },
) {
  return {
    dht: lookupDht(
      {
        protocol: `/waggle/1/${swarm}/kad/1.0.0`,
        // Private addresses are kept: most swarms have nothing else. Nobody here is a mere client; a swarm is small.
        clientMode: false,
        peerInfoMapper: passthroughMapper,
        // Not allowQueryWithZeroPeers: with a circuit listener and no peers it loops without end.
      },
      by.dht,
    ),
    autoNAT: politeAutoNAT,
    dcutr: dcutr(),
    ...(relay && { relay: circuitRelayServer({ reservations: RELAY_LIMITS }) }),
    ...(upnp && { upnp: (components: Components) => new PortForwarding(components, by.forwarding) }),
  }
}

/** A relay needs no relay; anyone else takes a reservation with any it meets. */
export function wideListen({ relay, webrtc }: Pick<WideOptions, 'relay' | 'webrtc'>): string[] {
  return relay ? [] : ['/p2p-circuit', ...(webrtc ? ['/webrtc'] : [])]
}

type AutoNATComponents = Parameters<ReturnType<typeof autoNAT>>[0]

/**
 * To see whether a peer can be reached, @libp2p/autonat 3.0.28 "dials" it, gets the connection that it has already, and
 * closes that: a node behind a NAT loses its relay, and the reservation there, as soon as it has it. Its dials are made
 * real ones here.
 */
export function politeAutoNAT(components: AutoNATComponents) {
  const { connectionManager } = components
  const openConnection: typeof connectionManager.openConnection = (target, options) =>
    connectionManager.openConnection(target, { ...options, force: true })
  const dialling = withProperty(connectionManager, 'openConnection', openConnection)
  return autoNAT()(withProperty(components, 'connectionManager', dialling))
}

/** The object, but for one property. (libp2p's are proxies and classes, which cannot be copied.) */
function withProperty<T extends object, K extends keyof T>(target: T, key: K, value: T[K]): T {
  return new Proxy(target, {
    get(from, property) {
      if (property === key) return value
      const found = Reflect.get(from, property)
      return typeof found === 'function' ? found.bind(from) : found
    },
  })
}

export { circuitRelayTransport }
