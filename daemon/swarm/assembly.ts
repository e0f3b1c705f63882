// Creates the parts of a swarm and connects them to one another. Starts nothing and decides nothing.

import type { PeerId, PeerInfo } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { isPrivate } from '@libp2p/utils'
import { processorTime } from '../platform/index.ts'
import { AddressBook } from './addresses/address-book.ts'
import { ownAddresses } from './addresses/address-order.ts'
import { Directly } from './addresses/directly.ts'
import { Lookup } from './addresses/lookup.ts'
import { Neighbours } from './addresses/neighbours.ts'
import { Bandwidth } from './bandwidth/bandwidth.ts'
import type { SwarmOptions, SwarmParts } from './contract.ts'
import { createExchange } from './exchange.ts'
import { BulkOffers } from './fetch/bulk-offer.ts'
import { States } from './fetch/states.ts'
import { forgetMessage, meshPeers } from './gossip/internals.ts'
import { ConnectionLimit } from './libp2p/connection-limit.ts'
import { createGate } from './libp2p/gate.ts'
import { Handshakes } from './libp2p/handshakes.ts'
import { ReadThrottle } from './libp2p/read-throttle.ts'
import { createRequests } from './libp2p/streams.ts'
import { createHost, type SwarmNode } from './libp2p/swarm-node.ts'
import { DialBackoff } from './links/dial-backoff.ts'
import { Forgetting } from './links/forgetting.ts'
import { ENOUGH_LINKS, Greeter } from './links/greet.ts'
import { Links } from './links/links.ts'
import { Prober } from './links/probe.ts'
import { Redial } from './links/redial.ts'
import { Silence } from './links/silence.ts'
import { Thinning } from './links/thinning.ts'
import { WakeDetector } from './links/wake-detector.ts'
import { Notices } from './notices.ts'
import type { SwarmEvent } from './types.ts'

export async function assemble(
  options: SwarmOptions,
  parts: SwarmParts & { topic: string; onEvent(event: SwarmEvent): void },
) {
  const self = parts.identity.peerId
  const maxConnections = options.maxConnections ?? 128
  const { clock, log, random, datastore, topic, onEvent } = parts
  const notices = new Notices({}, { onEvent })
  const bandwidth = new Bandwidth(
    { limits: options.limits },
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
          for (const connection of libp2p.getConnections()) connection.abort(new Error('no bytes are left'))
        else {
          dialBackoff.reset()
          redial.hurry()
        }
      },
    },
  )
  const exchange = createExchange(options, {
    ...parts,
    gossip: {
      publish: async (message) => (await pubsub.publish(topic, message)).recipients.length,
      forget: ({ data }) => forgetMessage(pubsub, topic, data),
    },
    requests: (traffic) => createRequests({ libp2p: () => libp2p, traffic, clock }),
    links: {
      cut(peer) {
        for (const connection of [...libp2p.getConnections(peerIdFromString(peer))])
          connection.abort(new Error('cut off'))
      },
      slow: (peer, ms) => readThrottle.slow(peer, ms),
    },
    isWanted: (peer) => redial.has(peer),
    isNear: (peer) =>
      libp2p
        .getConnections(peerIdFromString(peer))
        .some(({ limits, remoteAddr }) => limits === undefined && isPrivate(remoteAddr)),
    isBehind: () => bandwidth.isBehind,
    onClock: (trouble) => (trouble === undefined ? notices.over('clock') : notices.clockOff(trouble)),
    onImpostor: () => notices.impostor(),
    onUnneeded: (peer) => notices.unneeded(peer),
  })
  const { records, reputation, validator } = exchange
  const isUseful = (peer: string) => (records.get(peer)?.verified ?? 0) > 0
  const dialBackoff = new DialBackoff({}, { libp2p: () => libp2p, clock, random })
  const gate = createGate(options, {
    isCut: (peer) => reputation.isCut(peer),
    handshakes: new Handshakes(),
    admits: (peer, connection) => connectionLimit.admits(peer, connection),
    isWaiting: (peer) => dialBackoff.isWaiting(peer),
    bandwidth,
  })
  const neighbours = new Neighbours(
    { lan: options.lan ?? 'ask' },
    {
      clock,
      hasCompany: () => redial.ids().length > 0 || libp2p.getPeers().length > 0,
      dial: (peer) => {
        if (libp2p.getPeers().length < ENOUGH_LINKS) void redial.dial(peer)
      },
      notice: (message, action) => notices.neighbours(message, action),
    },
  )
  const book: AddressBook = new AddressBook(
    {},
    { libp2p: () => libp2p, nearby: (peer) => neighbours.addresses(peer), random },
  )
  const libp2p: SwarmNode = await createHost(
    {
      swarm: options.swarm,
      topics: [topic],
      listen: options.listen,
      announce: options.announce ?? [],
      mdns: options.lan !== 'off',
      wide: options.wide ?? true,
      upnp: options.upnp ?? false,
      relay: options.relay ?? false,
      webrtc: options.webrtc ?? false,
      ...(options.psk && { psk: options.psk }),
      maxConnections,
    },
    {
      identity: parts.identity,
      ...(datastore && { datastore }),
      gater: gate,
      transport: parts.transport,
      compareAddresses: book.compare,
      guard: {
        ...validator.guard,
        frame: (peer, bytes) => {
          prober.heard(peer)
          return validator.guard.frame(peer, bytes)
        },
      },
      stun: () => options.stun ?? [],
      onFound,
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
      dht: { clock, onMisuse: (peer) => reputation.offend(peer, 'reject') },
    },
  )
  const { pubsub } = libp2p.services
  const readThrottle = new ReadThrottle({}, { libp2p, clock })
  const lookup = new Lookup(
    {},
    {
      libp2p,
      clock,
      onLearned: (peer) => {
        records.touch(peer).found ??= 'dht'
      },
    },
  )
  const redial = new Redial(
    {},
    {
      libp2p,
      datastore,
      clock,
      log,
      random,
      book,
      isUseful,
      lookup: (peer, signal) => lookup.find(peer, signal),
    },
  )
  const connectionLimit = new ConnectionLimit(
    { limit: maxConnections },
    { libp2p, clock, isWanted: (peer) => redial.has(peer), isUseful },
  )
  const forgetting = new Forgetting(
    {},
    {
      libp2p,
      datastore,
      clock,
      log,
      keeps: (peer) => redial.has(peer) || redial.hasMet(peer) || isUseful(peer),
    },
  )
  const thinning = new Thinning(
    { keep: ENOUGH_LINKS },
    {
      ...{ libp2p, clock, random, isUseful },
      isWanted: (peer) => redial.has(peer),
      mesh: () => meshPeers(pubsub, topic),
    },
  )
  const silence = new Silence(
    {},
    {
      clock,
      peers: () => pubsub.getSubscribers(topic).length,
      verified: () => validator.verified,
      onSilent: (peers, ms) => notices.silence(peers, ms),
      onHeard: () => notices.over('silence'),
    },
  )
  const links = new Links(
    {},
    {
      libp2p,
      clock,
      log,
      isStarved: () => wakeDetector.isStarved(),
      onMended: exchange.fillGap,
      onTwin: (peer) => notices.twin(peer),
    },
  )
  const directly = new Directly({}, { libp2p, clock, log })
  const prober = new Prober(
    {},
    { libp2p, clock, log, isStarved: () => wakeDetector.isStarved(), onReplaced: exchange.fillGap },
  )
  const wakeDetector = new WakeDetector(
    {},
    {
      clock,
      log,
      addresses: ownAddresses,
      counted: processorTime,
      onWake() {
        dialBackoff.reset()
        prober.hurry()
        redial.hurry()
      },
    },
  )
  const offers = new BulkOffers({}, { libp2p, traffic: records, clock, log })
  const states =
    parts.states &&
    new States(
      { ...(options.stateMinutes !== undefined && { minutes: options.stateMinutes }) },
      {
        libp2p,
        traffic: records,
        states: parts.states,
        clock,
        random,
        log,
        isMuted: (peer) => reputation.isMuted(peer),
        onLie: (peer) => reputation.offend(peer, 'reject'),
      },
    )
  const greeter = new Greeter(
    { rules: { swarm: options.swarm, tasks: [...(options.tasks ?? [])] } },
    {
      libp2p,
      traffic: records,
      clock,
      log,
      random,
      denies: gate.denies,
      onGreeted: (peer) => {
        connectionLimit.hasGreeted(peer)
        void redial.remember(peer)
        exchange.onGreeted(peer)
      },
      onMismatch: (peer, why) => notices.otherRules(peer, why),
      onContact: (peer, addresses) => {
        records.touch(peer).found ??= 'exchange'
        book.heard(peer, addresses)
      },
      dial: (peer) => redial.dial(peer),
      addressesOf: (peer) => book.tellable(peer),
    },
  )

  function onFound({ id: peer, multiaddrs }: PeerInfo): void {
    const id = peer.toString()
    if (id === self || gate.denies(id)) return
    neighbours.see(id, multiaddrs.map(String))
    const record = records.get(id) ?? records.touch(id)
    if (record.found === undefined) {
      record.found = 'mdns'
      exchange.news.found(id)
    }
    // Peers that a user joined or that were met in this swarm. For others the config decides (neighbours.ts).
    if (redial.has(id) || redial.hasMet(id)) void redial.dial(id)
  }

  libp2p.addEventListener('peer:connect', ({ detail }: CustomEvent<PeerId>) => {
    notices.over('lan')
    exchange.onConnected(detail.toString(), libp2p.getConnections(detail)[0]?.remoteAddr.toString())
  })
  libp2p.addEventListener('peer:disconnect', ({ detail }: CustomEvent<PeerId>) => {
    exchange.onDisconnected(detail.toString())
  })
  pubsub.topicValidators.set(topic, (source, message) => validator.validate(source.toString(), message))

  return {
    ...{
      libp2p,
      gate,
      connectionLimit,
      dialBackoff,
      redial,
      links,
      directly,
      prober,
      wakeDetector,
      greeter,
      forgetting,
      thinning,
      silence,
      bandwidth,
    },
    ...{ book, neighbours, notices, exchange, offers, states },
  }
}
