// Assembles libp2p: transports, security, discovery, gossip, and every limit that its defaults leave open. Knows nothing
// of groups. What the settings are for is in shared measurements; each says which trap it is there for.

import { generateKeyPairFromSeed } from '@libp2p/crypto/keys'
import { type GossipSub, gossipsub } from '@libp2p/gossipsub'
import { type Identify, identify, identifyPush } from '@libp2p/identify'
import type { ConnectionGater, Libp2p, PeerInfo } from '@libp2p/interface'
import { type MulticastDNSComponents, mdns } from '@libp2p/mdns'
import { type Ping, ping } from '@libp2p/ping'
import { preSharedKey } from '@libp2p/pnet'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import type { Datastore } from 'interface-datastore'
import { createLibp2p } from 'libp2p'
import { WaggleError } from '../../protocol/errors.ts'
import { compareAddresses, ownSubnets } from './address-order.ts'
import { encryption } from './encryption.ts'
import { gossipOptions } from './gossip-config.ts'
import { type GossipGuard, guardGossip } from './gossip-internals.ts'
import type { Identity } from './identity.ts'
import type { PortForwardingCollaborators } from './port-forwarding.ts'
import { formatPsk } from './psk.ts'
import { webRtcTransport } from './webrtc.ts'

export interface HostOptions {
  /** Name of the swarm; nodes of other swarms are not found by mDNS. */
  swarm: string
  topics: string[]
  /** Multiaddrs to listen on; none: only dial. */
  listen: readonly string[]
  /** Multiaddrs to tell others beside those found. */
  announce: readonly string[]
  mdns: boolean
  wide: boolean
  upnp: boolean
  relay: boolean
  /** Needs `wide`, and no `psk`. */
  webrtc: boolean
  psk?: Uint8Array
  maxConnections: number
}

export interface HostCollaborators {
  identity: Pick<Identity, 'key'>
  /** Keeps peers' addresses over restarts; in memory if left out. Whoever opened it closes it. */
  datastore?: Datastore
  gater: ConnectionGater
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
  forwarding: PortForwardingCollaborators
}

export type Services = { identify: Identify; ping: Ping; pubsub: GossipSub }
export type Host = Libp2p<Services>

/** Not started. */
export async function createHost(options: HostOptions, by: HostCollaborators): Promise<Host> {
  const wide = options.wide || options.relay ? await import('./host-wide.ts') : undefined
  if (options.psk && options.webrtc)
    throw new WaggleError('E_CONFIG', 'a private swarm cannot use WebRTC: its key protects TCP only', {
      hint: 'Set swarm.webrtc = false.',
    })
  const webrtc = options.webrtc && wide ? await webRtcTransport(by) : undefined
  return await createLibp2p<Services>({
    start: false,
    privateKey: await libp2pKey(by.identity),
    nodeInfo: { name: 'waggle', version: '0.1.0', userAgent: 'waggle/0.1.0' },
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
      maxConnections: options.maxConnections,
      // A second; the default of 5 refused 7 of 12 nodes that joined at once from one address.
      inboundConnectionThreshold: 50,
      maxIncomingPendingConnections: 32,
      dialTimeout: 10_000,
      // Addresses are tried one by one: enough for a round trip of 400 ms, and soon on to the next.
      addressDialTimeout: 2500,
      addressSorter: (a, b) => compareAddresses(ownSubnets())(a, b),
      // Redialling is done here (redial.ts), since libp2p gives up after five tries.
      reconnectRetries: 0,
    },
    // With the defaults a busy event loop of a few seconds costs the connection. probe.ts notices sooner, and gentler.
    connectionMonitor: { pingInterval: 10_000, pingTimeout: { minTimeout: 15_000, maxTimeout: 30_000 } },
    peerDiscovery: options.mdns ? [watchedMdns(options, by)] : [],
    services: {
      ...(wide?.wideServices(options, by.forwarding) as object),
      identify: identify({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      // Tells peers when addresses change: a relay found, a laptop moved. Not part of identify.
      ...({ identifyPush: identifyPush({ maxInboundStreams: 4, maxOutboundStreams: 4 }) } as object),
      ping: ping({ maxInboundStreams: 4 }),
      pubsub: (components) => {
        const pubsub = gossipsub(gossipOptions(options.topics))(components as never)
        guardGossip(pubsub, by.guard)
        return pubsub
      },
    },
  })
}

/** mDNS that reports every answer: libp2p tells of a peer only once, and not who found it. */
function watchedMdns({ swarm }: HostOptions, by: HostCollaborators) {
  return (components: MulticastDNSComponents) => {
    const service = mdns({ serviceTag: `_waggle-${swarm}._udp.local`, interval: 5000 })(components)
    service.addEventListener('peer', (event) => by.onFound(event.detail))
    const start = (service as unknown as { start(): Promise<void> }).start.bind(service)
    return Object.assign(service, {
      start: async () => {
        await start()
        const socket = (service as unknown as { mdns?: NodeJS.EventEmitter }).mdns
        // A packet that cannot be read is an error as well, without a code: the fault of who sent it.
        const trouble = (error: NodeJS.ErrnoException) => error.code && by.onMdnsTrouble(error.message)
        socket?.on('error', trouble)
        socket?.on('warning', trouble)
        socket?.on('packet', () => by.onMdnsWorks())
      },
    })
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
