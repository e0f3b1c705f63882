// What a swarm needs beyond the local network: its own DHT to find peers by ID, relays for nodes behind NATs with the
// upgrade from relayed to direct connections, a test of whether this node can be reached, and port forwarding. All of
// this is idle until a peer is joined. Loaded only if the config asks for it.

import { autoNAT } from '@libp2p/autonat'
import { circuitRelayServer, circuitRelayTransport } from '@libp2p/circuit-relay-v2'
import { dcutr } from '@libp2p/dcutr'
import { passthroughMapper } from '@libp2p/kad-dht'
import { type Components, PortForwarding, type PortForwardingParts } from '../router/port-forwarding.ts'
import type { Clock } from '../types.ts'
import { type DhtParts, lookupDht } from './dht.ts'
import { pacedWalk, type WalkComponents } from './paced-walk.ts'

interface WideOptions {
  swarm: string
  relay: boolean
  upnp: boolean
  webrtc: boolean
}

/** Limits per relayed connection. It carries only hellos and dials; gossip goes through the relay as a peer. */
const RELAY_LIMITS = {
  maxReservations: 128,
  defaultDataLimit: 1n << 20n,
  defaultDurationLimit: 10 * 60_000,
}

export function wideServices(
  { swarm, relay, upnp }: WideOptions,
  parts: { forwarding: PortForwardingParts; dht: DhtParts },
) {
  return {
    dht: lookupDht(
      {
        protocol: `/waggle/1/${swarm}/kad/1.0.0`,
        // Private addresses are kept, since most swarms have no others. Swarms are small, so every node serves the DHT.
        clientMode: false,
        peerInfoMapper: passthroughMapper,
        // allowQueryWithZeroPeers is not set: with a circuit listener and no peers, it loops forever.
      },
      parts.dht,
    ),
    autoNAT: politeAutoNAT(parts.dht),
    dcutr: dcutr(),
    ...(relay && { relay: circuitRelayServer({ reservations: RELAY_LIMITS }) }),
    ...(upnp && { upnp: (components: Components) => new PortForwarding(components, parts.forwarding) }),
  }
}

/** A relay needs no relay. Other nodes make a reservation with any relay they meet. */
export function wideListen({ relay, webrtc }: Pick<WideOptions, 'relay' | 'webrtc'>): string[] {
  return relay ? [] : ['/p2p-circuit', ...(webrtc ? ['/webrtc'] : [])]
}

type RelayComponents = Parameters<ReturnType<typeof circuitRelayTransport>>[0] & WalkComponents
type AutoNATComponents = Parameters<ReturnType<typeof autoNAT>>[0] & WalkComponents

/**
 * To test whether a peer can be reached, @libp2p/autonat 3.0.28 "dials" it, gets the existing connection, and closes
 * that. A node behind a NAT would lose its relay, and its reservation there, as soon as it has one. With this,
 * AutoNAT's dials open new connections.
 */
export const politeAutoNAT = (parts: { clock: Clock }) => (components: AutoNATComponents) => {
  const { connectionManager } = components
  const openConnection: typeof connectionManager.openConnection = (target, options) =>
    connectionManager.openConnection(target, { ...options, force: true })
  const dialling = withProperty(connectionManager, 'openConnection', openConnection)
  return autoNAT()(withPacedWalk(withProperty(components, 'connectionManager', dialling), parts))
}

/** Connects through relays, and searches for relays. */
export const relayTransport = (parts: { clock: Clock }) => (components: RelayComponents) =>
  circuitRelayTransport()(withPacedWalk(components, parts))

const withPacedWalk = <T extends WalkComponents & Pick<RelayComponents, 'randomWalk'>>(
  components: T,
  parts: { clock: Clock },
): T => withProperty(components, 'randomWalk', pacedWalk(components, parts) as T['randomWalk'])

/** The object with one property replaced. (libp2p's objects are proxies and instances, which cannot be copied.) */
function withProperty<T extends object, K extends keyof T>(target: T, key: K, value: T[K]): T {
  return new Proxy(target, {
    get(from, property) {
      if (property === key) return value
      const found = Reflect.get(from, property)
      return typeof found === 'function' ? found.bind(from) : found
    },
  })
}
