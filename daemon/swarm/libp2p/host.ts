// Assembles libp2p: transports, security, discovery, gossip, and every limit that its defaults leave open. It knows
// nothing of groups. The comment on a setting names the failure that it prevents.

import { generateKeyPairFromSeed } from '@libp2p/crypto/keys'
import { type GossipSub, gossipsub } from '@libp2p/gossipsub'
import { type Identify, identify, identifyPush } from '@libp2p/identify'
import type {
  Address,
  ComponentLogger,
  ConnectionGater,
  Libp2p,
  PeerDiscovery,
  PeerInfo,
  Transport,
} from '@libp2p/interface'
import { type MulticastDNSComponents, mdns } from '@libp2p/mdns'
import { type Ping, ping } from '@libp2p/ping'
import { preSharedKey } from '@libp2p/pnet'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import type { Datastore } from 'interface-datastore'
import { createLibp2p } from 'libp2p'
import { WaggleError } from '../../../protocol/errors.ts'
import { VERSION } from '../../../protocol/package.ts'
import { gossipOptions } from '../gossip/config.ts'
import { type GossipGuard, guardGossip } from '../gossip/internals.ts'
import { formatPsk } from '../join/psk.ts'
import type { Identity } from '../peers/identity.ts'
import type { PortForwardingParts } from '../router/port-forwarding.ts'
import type { DhtParts } from './dht.ts'
import { encryption } from './encryption.ts'
import { MAX_HANDSHAKES } from './handshakes.ts'
import { webRtcTransport } from './webrtc.ts'

/** Addresses are tried one by one: long enough for a round trip of 400 ms and a lost packet, then on to the next. */
export const CONNECT_MS = 2500
/** One dial may try several addresses in turn. */
export const DIAL_MS = 15_000

export interface HostOptions {
  /** Name of the swarm; mDNS does not find nodes of other swarms. */
  swarm: string
  topics: string[]
  /** Multiaddrs to listen on. If empty, the node only dials. */
  listen: readonly string[]
  /** Multiaddrs to announce besides those that are found. */
  announce: readonly string[]
  /** Find peers on the local network by mDNS, and be found there. */
  mdns: boolean
  wide: boolean
  upnp: boolean
  relay: boolean
  /** Needs `wide`, and no `psk`. */
  webrtc: boolean
  psk?: Uint8Array
  maxConnections: number
}

export interface HostParts {
  identity: Pick<Identity, 'key'>
  /** Keeps peers' addresses across restarts; in memory if undefined. Whoever opened it closes it. */
  datastore?: Datastore
  gater: ConnectionGater
  /** How to reach peers. Default: TCP. */
  transport?: NodeTransport | undefined
  /** The order in which to dial a peer's addresses. */
  compareAddresses(a: Address, b: Address): -1 | 0 | 1
  guard: GossipGuard
  /** mDNS heard of a peer. Called for each answer, not only the first. */
  onFound(info: PeerInfo): void
  /** `host:port` of STUN servers; WebRTC asks for them at each connection. */
  stun(): readonly string[]
  /** mDNS does not work on this machine, or not at the moment. */
  onMdnsTrouble(message: string): void
  /** Something arrived by mDNS, possibly this node's own question. */
  onMdnsWorks(): void
  /** For UPnP. */
  forwarding: PortForwardingParts
  dht: DhtParts
}

export type NodeTransport = (components: { logger: ComponentLogger }) => Transport
export type Services = { identify: Identify; ping: Ping; pubsub: GossipSub }
export type Host = Libp2p<Services>

/** Not started. */
export async function createHost(options: HostOptions, by: HostParts): Promise<Host> {
  const wide = options.wide || options.relay ? await import('./host-wide.ts') : undefined
  if (options.psk && options.webrtc)
    throw new WaggleError('E_CONFIG', 'a private swarm cannot use WebRTC: its key protects TCP only', {
      hint: 'Set swarm.webrtc = false.',
    })
  const webrtc = options.webrtc && wide ? await webRtcTransport(by) : undefined
  return await createLibp2p<Services>({
    start: false,
    privateKey: await libp2pKey(by.identity),
    nodeInfo: { name: 'waggle', version: VERSION, userAgent: `waggle/${VERSION}` },
    addresses: {
      listen: [...options.listen, ...(wide?.wideListen(options) ?? [])],
      appendAnnounce: [...options.announce],
    },
    transports: [
      // Net's option, which the type leaves out.
      by.transport ?? tcp({ dialOpts: { timeout: CONNECT_MS } as object }),
      ...(wide ? [wide.relayTransport(by.dht)] : []),
      ...(webrtc ? [webrtc] : []),
    ],
    // The key protects TCP only, so no other transport may be added.
    ...(options.psk && { connectionProtector: preSharedKey({ psk: Buffer.from(formatPsk(options.psk)) }) }),
    connectionEncrypters: [encryption()],
    // With windows above the 4 MiB that a stream may buffer unread, libp2p aborts the stream.
    streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 4 << 20 } })],
    connectionGater: by.gater,
    ...(by.datastore && { datastore: by.datastore }),
    // By default, addresses are dropped after an hour and peers after six, which leaves nobody to dial.
    peerStore: { maxAddressAge: Number.POSITIVE_INFINITY, maxPeerAge: Number.POSITIVE_INFINITY },
    connectionManager: {
      // handshakes.ts and connection-limit.ts decide what to close when there are too many. libp2p's own limits would
      // refuse whoever comes last, even a joined peer, so they are set out of reach.
      maxConnections: options.maxConnections + MAX_HANDSHAKES,
      inboundConnectionThreshold: 1000,
      maxIncomingPendingConnections: 1024,
      dialTimeout: DIAL_MS,
      // Includes the handshakes. libp2p destroys the socket of a dial that takes longer, so a starved machine with less than
      // this would never connect.
      addressDialTimeout: 10_000,
      addressSorter: by.compareAddresses,
      maxPeerAddrsToDial: 16,
      // redial.ts redials, since libp2p gives up after five attempts.
      reconnectRetries: 0,
    },
    // It measures round trips only. By default, a ping that fails costs the connection, also where a busy peer's libp2p gave
    // it up; then everybody dials again, which makes all machines busier. probe.ts notices dead connections sooner.
    connectionMonitor: { pingInterval: 10_000, abortConnectionOnPingFailure: false },
    services: {
      ...(wide?.wideServices(options, by) as object),
      identify: identify({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      // Tells peers when addresses change: a relay was found, a laptop moved. This is not part of identify.
      ...({ identifyPush: identifyPush({ maxInboundStreams: 4, maxOutboundStreams: 4 }) } as object),
      // libp2p's monitor, its DHT and probe.ts ping the same connection. By default only one of them may at a time.
      ping: ping({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      ...((options.mdns && { mdns: watchedMdns(options, by) }) as object),
      pubsub: (components) => {
        const pubsub = gossipsub(gossipOptions(options.topics))(components as never)
        guardGossip(pubsub, by.guard)
        return pubsub
      },
    },
  })
}

/**
 * mDNS that reports only to this node. As a libp2p discovery it would fill the peer store, and libp2p's search for
 * relays dials every new entry there: the node would join every node on the network unasked.
 */
function watchedMdns({ swarm }: HostOptions, by: HostParts) {
  return (components: MulticastDNSComponents) => {
    const service = mdns({ serviceTag: `_waggle-${swarm}._udp.local`, interval: 5000 })(
      components,
    ) as PeerDiscovery & { start(): Promise<void>; stop(): Promise<void>; mdns?: NodeJS.EventEmitter }
    service.addEventListener('peer', (event) => by.onFound(event.detail))
    return {
      async start() {
        await service.start()
        // An unreadable packet is also an error, without a code; its sender is at fault.
        const trouble = (error: NodeJS.ErrnoException) => error.code && by.onMdnsTrouble(error.message)
        service.mdns?.on('error', trouble)
        service.mdns?.on('warning', trouble)
        service.mdns?.on('packet', () => by.onMdnsWorks())
      },
      stop: () => service.stop(),
    }
  }
}

async function libp2pKey({ key }: Pick<Identity, 'key'>) {
  const { d } = key.export({ format: 'jwk' })
  return await generateKeyPairFromSeed('Ed25519', Buffer.from(d!, 'base64url'))
}

/** Starts the host; failures to listen are thrown as E_PORT. */
export async function startHost(host: Host, { listen }: Pick<HostOptions, 'listen'>): Promise<void> {
  try {
    await host.start()
  } catch (cause) {
    await host.stop()
    const messages = [cause, ...((cause as AggregateError).errors ?? [])].map(
      (error) => (error as Error).message,
    )
    const text = messages.join('; ')
    const why = /EADDRINUSE/.test(text)
      ? 'it is in use'
      : /EACCES|EPERM/.test(text)
        ? 'this user may not listen on it'
        : /EADDRNOTAVAIL/.test(text)
          ? 'this machine has no such address'
          : (messages[0] ?? 'unknown reason')
    throw new WaggleError('E_PORT', `cannot listen on ${listen.join(', ')}: ${why}`, {
      hint: 'Choose another port under [swarm] listen in the config; /tcp/0 takes a free one.',
      data: { listen: [...listen] },
      cause,
    })
  }
}
