// Assembles libp2p: transports, security, discovery, gossip, and every limit that its defaults leave open. Knows nothing
// of groups. What the settings are for is in shared measurements; each says which trap it is there for.

import { generateKeyPairFromSeed } from '@libp2p/crypto/keys'
import { type GossipSub, gossipsub } from '@libp2p/gossipsub'
import { type Identify, identify, identifyPush } from '@libp2p/identify'
import type { Address, ConnectionGater, Libp2p, PeerDiscovery, PeerInfo } from '@libp2p/interface'
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

export interface HostOptions {
  /** Name of the swarm; nodes of other swarms are not found by mDNS. */
  swarm: string
  topics: string[]
  /** Multiaddrs to listen on; none: only dial. */
  listen: readonly string[]
  /** Multiaddrs to tell others beside those found. */
  announce: readonly string[]
  /** Look for peers on the local network, and be seen there. */
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
  /** Keeps peers' addresses over restarts; in memory if left out. Whoever opened it closes it. */
  datastore?: Datastore
  gater: ConnectionGater
  /** Which of a peer's addresses to dial first. */
  compareAddresses(a: Address, b: Address): -1 | 0 | 1
  guard: GossipGuard
  /** mDNS heard of a peer; called for each answer, not only the first. */
  onFound(info: PeerInfo): void
  /** `host:port` of STUN servers, asked for at each connection by WebRTC. */
  stun(): readonly string[]
  /** mDNS cannot work on this machine, or at the moment. */
  onMdnsTrouble(message: string): void
  /** Something came by mDNS, be it this node's own question. */
  onMdnsWorks(): void
  /** For UPnP. */
  forwarding: PortForwardingParts
  dht: DhtParts
}

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
    transports: [tcp(), ...(wide ? [wide.circuitRelayTransport()] : []), ...(webrtc ? [webrtc] : [])],
    // Protects TCP only, so nothing else may ever be added beside it.
    ...(options.psk && { connectionProtector: preSharedKey({ psk: Buffer.from(formatPsk(options.psk)) }) }),
    connectionEncrypters: [encryption()],
    // Windows above the 4 MiB that a stream may buffer unread make libp2p abort it.
    streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 4 << 20 } })],
    connectionGater: by.gater,
    ...(by.datastore && { datastore: by.datastore }),
    // The defaults drop addresses after an hour and peers after six: then there is nobody left to dial.
    peerStore: { maxAddressAge: Number.POSITIVE_INFINITY, maxPeerAge: Number.POSITIVE_INFINITY },
    connectionManager: {
      // handshakes.ts and connection-limit.ts decide who gives way when there are too many. libp2p's own limits turn away whoever comes
      // last, be it a friend, so they are out of reach here.
      maxConnections: options.maxConnections + MAX_HANDSHAKES,
      inboundConnectionThreshold: 1000,
      maxIncomingPendingConnections: 1024,
      dialTimeout: 10_000,
      // Addresses are tried one by one: enough for a round trip of 400 ms, and soon on to the next.
      addressDialTimeout: 2500,
      addressSorter: by.compareAddresses,
      maxPeerAddrsToDial: 16,
      // Redialling is done here (redial.ts), since libp2p gives up after five tries.
      reconnectRetries: 0,
    },
    // With the defaults a busy event loop of a few seconds costs the connection. probe.ts notices sooner, and gentler.
    connectionMonitor: { pingInterval: 10_000, pingTimeout: { minTimeout: 15_000, maxTimeout: 30_000 } },
    services: {
      ...(wide?.wideServices(options, by) as object),
      identify: identify({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      // Tells peers when addresses change: a relay found, a laptop moved. Not part of identify.
      ...({ identifyPush: identifyPush({ maxInboundStreams: 4, maxOutboundStreams: 4 }) } as object),
      ping: ping({ maxInboundStreams: 4 }),
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
 * mDNS that reports to this node alone. As a discovery of libp2p it would fill the peer store, and whatever is new there is
 * dialled by libp2p's search for relays: every node on the network would be joined without anybody having asked for it.
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
        // A packet that cannot be read is an error as well, without a code: the fault of who sent it.
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

/** Starts it; failures to listen are told as E_PORT. */
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
