// Assembles libp2p: transports, security, discovery, gossip, and every limit that its defaults leave open. It does not
// know about groups. The comment on a setting says which failure it prevents.

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
import { tcp } from '@libp2p/tcp'
import type { Datastore } from 'interface-datastore'
import { createLibp2p } from 'libp2p'
import { WaggleError } from '../../../protocol/errors.ts'
import { VERSION } from '../../../protocol/package.ts'
import { gossipOptions } from '../gossip/config.ts'
import { type GossipGuard, guardGossip } from '../gossip/internals.ts'
import { createProtector } from '../join/protector.ts'
import type { Identity } from '../peers/identity.ts'
import type { PortForwardingParts } from '../router/port-forwarding.ts'
import type { DhtParts } from './dht.ts'
import { encryption } from './encryption.ts'
import { MAX_HANDSHAKES } from './handshakes.ts'
import { muxer } from './muxer.ts'
import { webRtcTransport } from './webrtc.ts'

/** Timeout per address; addresses are tried one by one. Enough for a round trip of 400 ms and a lost packet. */
export const CONNECT_MS = 2500
/** Timeout of one dial, which may try several addresses in turn. */
export const DIAL_MS = 15_000

interface HostOptions {
  /** The swarm's name; mDNS does not find nodes of other swarms. */
  swarm: string
  topics: string[]
  /** Multiaddrs to listen on. If empty, the node only dials. */
  listen: readonly string[]
  /** Multiaddrs to announce besides those detected. */
  announce: readonly string[]
  /** Find and announce nodes on the local network by mDNS. */
  mdns: boolean
  wide: boolean
  upnp: boolean
  relay: boolean
  /** Requires `wide` and no `psk`. */
  webrtc: boolean
  psk?: Uint8Array
  maxConnections: number
}

export interface HostParts {
  identity: Pick<Identity, 'key'>
  /** Keeps peers' addresses across restarts. Default: in memory. Whoever opened it closes it. */
  datastore?: Datastore
  gater: ConnectionGater
  /** Transport to peers. Default: TCP. */
  transport?: NodeTransport | undefined
  /** The order in which to dial a peer's addresses. */
  compareAddresses(a: Address, b: Address): -1 | 0 | 1
  guard: GossipGuard
  /** mDNS found a peer. Called for each answer, not only the first. */
  onFound(info: PeerInfo): void
  /** `host:port` of STUN servers; read for each WebRTC connection. */
  stun(): readonly string[]
  /** mDNS does not work on this machine, perhaps temporarily. */
  onMdnsTrouble(message: string): void
  /** An mDNS packet arrived, possibly this node's own question. */
  onMdnsWorks(): void
  /** For port forwarding. */
  forwarding: PortForwardingParts
  dht: DhtParts
}

export type NodeTransport = (components: { logger: ComponentLogger }) => Transport
type Services = { identify: Identify; ping: Ping; pubsub: GossipSub }
export type SwarmNode = Libp2p<Services>

/** Creates the host without starting it. */
export async function createHost(options: HostOptions, parts: HostParts): Promise<SwarmNode> {
  const wide = options.wide || options.relay ? await import('./host-wide.ts') : undefined
  if (options.psk && options.webrtc)
    throw new WaggleError('E_CONFIG', 'a private swarm cannot use WebRTC: its key protects TCP only', {
      hint: 'Set swarm.webrtc = false.',
    })
  const webrtc = options.webrtc && wide ? await webRtcTransport(parts) : undefined
  return await createLibp2p<Services>({
    start: false,
    privateKey: await libp2pKey(parts.identity),
    nodeInfo: { name: 'waggle', version: VERSION, userAgent: `waggle/${VERSION}` },
    addresses: {
      listen: [...options.listen, ...(wide?.wideListen(options) ?? [])],
      appendAnnounce: [...options.announce],
    },
    transports: [
      // An option of node:net that the type leaves out.
      parts.transport ?? tcp({ dialOpts: { timeout: CONNECT_MS } as object }),
      ...(wide ? [wide.relayTransport(parts.dht)] : []),
      ...(webrtc ? [webrtc] : []),
    ],
    // The pre-shared key protects only TCP, so no other transport may be added.
    ...(options.psk && { connectionProtector: createProtector(options.psk) }),
    connectionEncrypters: [encryption()],
    // A stream may buffer 4 MiB unread. With a larger window, libp2p aborts the stream.
    streamMuxers: [muxer({ streamOptions: { maxStreamWindowSize: 4 << 20 } })],
    connectionGater: parts.gater,
    ...(parts.datastore && { datastore: parts.datastore }),
    // By default, addresses expire after an hour and peers after six, which leaves nobody to dial.
    peerStore: { maxAddressAge: Number.POSITIVE_INFINITY, maxPeerAge: Number.POSITIVE_INFINITY },
    connectionManager: {
      // handshakes.ts and connection-limit.ts decide what to close when there are too many. libp2p's own limits would
      // refuse the newest connection, even from a joined peer, so they are set out of reach.
      maxConnections: options.maxConnections + MAX_HANDSHAKES,
      inboundConnectionThreshold: 1000,
      maxIncomingPendingConnections: 1024,
      dialTimeout: DIAL_MS,
      // Includes the handshake. libp2p destroys the socket of a dial that takes longer, so with less than this a
      // starved machine would never connect.
      addressDialTimeout: 10_000,
      addressSorter: parts.compareAddresses,
      maxPeerAddrsToDial: 16,
      // redial.ts does this instead, since libp2p gives up after five attempts.
      reconnectRetries: 0,
    },
    // Only measures round trips. By default, a failed ping closes the connection, even if the peer was merely busy;
    // then everybody redials, which makes all machines busier. probe.ts detects dead connections sooner.
    connectionMonitor: { pingInterval: 30_000, abortConnectionOnPingFailure: false },
    services: {
      ...(wide?.wideServices(options, parts) as object),
      identify: identify({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      // Tells peers when addresses change: a relay was found, a laptop moved. It is separate from identify.
      ...({ identifyPush: identifyPush({ maxInboundStreams: 4, maxOutboundStreams: 4 }) } as object),
      // libp2p's monitor, its DHT and older nodes ping on the same connection. By default only one may at a time.
      ping: ping({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      ...((options.mdns && { mdns: watchedMdns(options, parts) }) as object),
      pubsub: (components) => {
        const pubsub = gossipsub(gossipOptions(options.topics))(components as never)
        guardGossip(pubsub, parts.guard)
        return pubsub
      },
    },
  })
}

/**
 * mDNS that reports only to this node. As a libp2p discovery, it would fill the peer store, and libp2p's search for
 * relays dials every new entry there: the node would join every node on the local network unasked.
 */
function watchedMdns({ swarm }: HostOptions, parts: HostParts) {
  return (components: MulticastDNSComponents) => {
    const service = mdns({ serviceTag: `_waggle-${swarm}._udp.local`, interval: 5000 })(
      components,
    ) as PeerDiscovery & { start(): Promise<void>; stop(): Promise<void>; mdns?: NodeJS.EventEmitter }
    service.addEventListener('peer', (event) => parts.onFound(event.detail))
    return {
      async start() {
        await service.start()
        // An unreadable packet is also an error, but without a code: its sender is at fault.
        const trouble = (error: NodeJS.ErrnoException) => error.code && parts.onMdnsTrouble(error.message)
        service.mdns?.on('error', trouble)
        service.mdns?.on('warning', trouble)
        service.mdns?.on('packet', () => parts.onMdnsWorks())
      },
      stop: () => service.stop(),
    }
  }
}

export async function libp2pKey({ key }: Pick<Identity, 'key'>) {
  const { d } = key.export({ format: 'jwk' })
  return await generateKeyPairFromSeed('Ed25519', Buffer.from(d!, 'base64url'))
}

/** Starts the host. Resolves with the multiaddrs that it listens on. Rejects with E_PORT if it cannot listen. */
export async function startHost(
  libp2p: SwarmNode,
  { listen }: Pick<HostOptions, 'listen'>,
): Promise<string[]> {
  const listening: string[] = []
  libp2p.addEventListener('transport:listening', ({ detail }) => {
    listening.push(...detail.getAddrs().map(String))
  })
  try {
    await libp2p.start()
    return listening
  } catch (cause) {
    await libp2p.stop()
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
