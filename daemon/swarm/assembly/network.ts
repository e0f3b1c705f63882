// The node on the network, and what stands between it and the exchange of groups.

import type { PeerInfo } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { isNearby } from '../addresses/address-order.ts'
import { Bandwidth } from '../bandwidth/bandwidth.ts'
import type { SwarmOptions } from '../contract.ts'
import { createExchange, type Exchange } from '../exchange.ts'
import { forgetMessage } from '../gossip/internals.ts'
import { createGate, type Gate } from '../libp2p/gate.ts'
import { Handshakes } from '../libp2p/handshakes.ts'
import { createRequests } from '../libp2p/streams.ts'
import { createHost, type SwarmNode } from '../libp2p/swarm-node.ts'
import { DialBackoff } from '../links/dial-backoff.ts'
import type { Assembled, AssemblyParts } from './assembled.ts'

export const MAX_CONNECTIONS = 128

export function makeBandwidth(
  { limits }: SwarmOptions,
  made: Assembled,
  { clock, datastore, log }: AssemblyParts,
): Bandwidth {
  return new Bandwidth(
    { limits },
    {
      ...{ clock, datastore, log },
      onOff(isOff) {
        log(
          'info',
          isOff
            ? 'the bytes of this month are used up: disconnecting'
            : 'there are bytes for the network again',
        )
        if (isOff)
          for (const connection of made.libp2p.getConnections())
            connection.abort(new Error('no bytes are left'))
        else {
          made.dialBackoff.reset()
          made.redial.hurry()
        }
      },
    },
  )
}

export function makeExchange(options: SwarmOptions, made: Assembled, parts: AssemblyParts): Exchange {
  const { clock, topic } = parts
  const { notices } = made
  const pubsub = () => made.libp2p.services.pubsub
  return createExchange(options, {
    ...parts,
    gossip: {
      publish: async (message) => (await pubsub().publish(topic, message)).recipients.length,
      forget: ({ data }) => forgetMessage(pubsub(), topic, data),
    },
    requests: (traffic) => createRequests({ libp2p: () => made.libp2p, traffic, clock }),
    links: {
      cut(peer) {
        for (const connection of [...made.libp2p.getConnections(peerIdFromString(peer))])
          connection.abort(new Error('cut off'))
      },
      slow: (peer, ms) => made.readThrottle.slow(peer, ms),
    },
    isWanted: (peer) => made.redial.has(peer),
    isNear: (peer) =>
      made.libp2p
        .getConnections(peerIdFromString(peer))
        .some(({ limits, remoteAddr }) => limits === undefined && isNearby(remoteAddr)),
    isTrusted: (peer) => options.psk !== undefined || parts.isTrusted?.(peer) === true,
    isBehind: () => made.bandwidth.isBehind,
    onClock: (trouble) => (trouble === undefined ? notices.over('clock') : notices.clockOff(trouble)),
    onImpostor: () => notices.impostor(),
    onUnneeded: (peer) => notices.unneeded(peer),
  })
}

export function makeDialBackoff(made: Assembled, { clock, random }: AssemblyParts): DialBackoff {
  return new DialBackoff({}, { libp2p: () => made.libp2p, clock, random })
}

export function makeGate(options: SwarmOptions, made: Assembled): Gate {
  const { exchange, dialBackoff, bandwidth } = made
  return createGate(options, {
    isCut: (peer) => exchange.reputation.isCut(peer),
    handshakes: new Handshakes(),
    admits: (peer, connection) => made.connectionLimit.admits(peer, connection),
    isWaiting: (peer) => dialBackoff.isWaiting(peer),
    bandwidth,
  })
}

export function makeNode(options: SwarmOptions, made: Assembled, parts: AssemblyParts): Promise<SwarmNode> {
  const { clock, random, log, datastore } = parts
  const { notices, gate, book, exchange } = made
  const { guard } = exchange.validator
  return createHost(
    {
      swarm: options.swarm,
      topics: [parts.topic],
      listen: options.listen,
      announce: options.announce ?? [],
      mdns: options.lan !== 'off',
      wide: options.wide ?? true,
      upnp: options.upnp ?? false,
      relay: options.relay ?? false,
      webrtc: options.webrtc ?? false,
      ...(options.psk && { psk: options.psk }),
      maxConnections: options.maxConnections ?? MAX_CONNECTIONS,
    },
    {
      identity: parts.identity,
      ...(datastore && { datastore }),
      gater: gate,
      transport: parts.transport,
      compareAddresses: book.compare,
      guard: {
        ...guard,
        frame: (peer, bytes) => {
          made.prober.heard(peer)
          return guard.frame(peer, bytes)
        },
      },
      stun: () => options.stun ?? [],
      onFound: (found) => onFound(found, made, parts),
      onMdnsWorks: () => notices.over('mdns'),
      onMdnsTrouble: (message) => notices.noMdns(message),
      forwarding: {
        ...{ clock, random, log },
        onForwarded(outcome) {
          if ('addresses' in outcome)
            log('info', 'the router forwards a port', { addresses: outcome.addresses })
          notices.forwarding(outcome)
        },
      },
      dht: { clock, onMisuse: (peer) => exchange.reputation.offend(peer, 'reject') },
    },
  )
}

/** A node that mDNS found on the local network. */
function onFound(
  { id: peer, multiaddrs }: PeerInfo,
  { gate, neighbours, exchange, redial }: Assembled,
  { identity }: AssemblyParts,
): void {
  const id = peer.toString()
  if (id === identity.peerId || gate.denies(id)) return
  neighbours.see(id, multiaddrs.map(String))
  const record = exchange.records.get(id) ?? exchange.records.touch(id)
  if (record.found === undefined) {
    record.found = 'mdns'
    exchange.news.found(id)
  }
  // Peers that a user joined or that were met in this swarm. For others the config decides (neighbours.ts).
  if (redial.has(id) || redial.hasMet(id)) void redial.dial(id)
}
