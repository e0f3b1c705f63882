// Creates the parts of a swarm and connects them to one another. Starts nothing and decides nothing.

import type { PeerId, PeerInfo } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { peerName } from '../../protocol/text.ts'
import { MAX_LISTED } from '../../protocol/wire/index.ts'
import { AddressBook } from './addresses/address-book.ts'
import { Directly } from './addresses/directly.ts'
import { Lookup } from './addresses/lookup.ts'
import { Neighbours } from './addresses/neighbours.ts'
import { Admission } from './admission/admission.ts'
import { ClockWatch } from './admission/clock-watch.ts'
import { Contents } from './admission/contents.ts'
import { GossipValidator } from './admission/gossip-validator.ts'
import { Verifier } from './admission/verify.ts'
import type { SwarmOptions, SwarmParts } from './contract.ts'
import { BulkOffers } from './fetch/bulk-offer.ts'
import { Fetcher } from './fetch/fetcher.ts'
import { RecentFrames } from './fetch/recent-frames.ts'
import { States } from './fetch/states.ts'
import { forgetMessage } from './gossip/internals.ts'
import { Publisher } from './gossip/publisher.ts'
import { Brake } from './libp2p/brake.ts'
import { ConnectionLimit } from './libp2p/connection-limit.ts'
import { createGate } from './libp2p/gate.ts'
import { Handshakes } from './libp2p/handshakes.ts'
import { createHost, type Host } from './libp2p/host.ts'
import { DialBackoff } from './links/dial-backoff.ts'
import { Forgetting } from './links/forgetting.ts'
import { ENOUGH_LINKS, Greeter } from './links/greet.ts'
import { Links } from './links/links.ts'
import { Prober } from './links/probe.ts'
import { Redial } from './links/redial.ts'
import { Notices } from './notices.ts'
import { Memory } from './peers/memory.ts'
import { PeerRecords } from './peers/records.ts'
import { Reputation } from './peers/reputation.ts'
import type { SwarmEvent } from './types.ts'

/** A peer may have been away this long before its connection was given up. */
const NOTICE_MS = 35_000
/** After a broken link: longer than it takes to notice one. A request costs 32 bytes per group, so this is generous. */
const GAP_MS = 60_000
const GAP_SETTLE_MS = 500
/** Groups that an unknown peer may bring at once, whoever signed them. */
const STRANGER_MISSED = 512
/** What a node requests when it first meets the swarm. */
const FIRST_ASK_MS = 120_000

export async function assemble(
  options: SwarmOptions,
  by: SwarmParts & { topic: string; onEvent(event: SwarmEvent): void },
) {
  const self = by.identity.peerId
  const maxConnections = options.maxConnections ?? 128
  const { clock, log, random, datastore, topic, onEvent } = by
  const notices = new Notices({}, { onEvent })
  const records = new PeerRecords({}, { clock })
  const reputation = new Reputation({}, { clock, onCut: (peer, reason) => onCut(peer, reason) })
  const recentFrames = new RecentFrames({}, { clock })
  const contents = new Contents({}, { clock })
  const isKnown = (peer: string) => redial.has(peer) || records.hasEarned(peer)
  const clockWatch = new ClockWatch(
    {},
    {
      clock,
      onOff: (message) => notices.clockOff(message),
      onRight: () => notices.over('clock'),
    },
  )
  const isUseful = (peer: string) => (records.get(peer)?.verified ?? 0) > 0
  const dialBackoff = new DialBackoff({}, { host: () => host, clock, random })
  const gate = createGate(options, {
    isCut: (peer) => reputation.isCut(peer),
    handshakes: new Handshakes(),
    admits: (peer, connection) => connectionLimit.admits(peer, connection),
    isWaiting: (peer) => dialBackoff.isWaiting(peer),
  })
  const neighbours = new Neighbours(
    { lan: options.lan ?? 'ask' },
    {
      clock,
      hasCompany: () => redial.ids().length > 0 || host.getPeers().length > 0,
      dial: (peer) => {
        if (host.getPeers().length < ENOUGH_LINKS) void redial.dial(peer)
      },
      notice: (message, action) => notices.neighbours(message, action),
    },
  )
  const book: AddressBook = new AddressBook(
    {},
    { host: () => host, nearby: (peer) => neighbours.addresses(peer), random },
  )
  const admission = new Admission(
    { self, arms: options.arms ?? ['base'], carry: options.relay ?? false },
    {
      tasks: by.tasks,
      records,
      contents,
      clock,
      isMuted: (peer) => reputation.isMuted(peer),
      isWanted: (peer) => redial.has(peer),
      onDated: (author, aheadMs) => clockWatch.dated(author, aheadMs),
      onImpostor: () => notices.impostor(),
    },
  )
  const verifier = new Verifier(options, { ...by, contents, isKnown })
  const validator = new GossipValidator(
    { carry: options.relay ?? false },
    {
      admission,
      verifier,
      records,
      reputation,
      isKnown,
      clock,
      log,
      onGroup: by.onGroup,
      onEvent,
      onAdmitted: (frame, task) => recentFrames.add(frame, task),
      slow: (peer, ms) => brake.slow(peer, ms),
      forget: (message) => forgetMessage(pubsub, message),
      onAnnounced({ hash, author }, source) {
        const isAnswerable = author === source || isKnown(author) || records.get(author)?.connected === true
        fetcher.announced(hash, isAnswerable ? author : source, [source, author])
      },
    },
  )
  const host: Host = await createHost(
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
      identity: by.identity,
      ...(datastore && { datastore }),
      gater: gate,
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
  const { pubsub } = host.services
  const brake = new Brake({}, { host, clock })
  const publisher = new Publisher(
    { topic },
    { identity: by.identity, codec: by.codec, pubsub, admission, recentFrames, clock },
  )
  const lookup = new Lookup(
    {},
    {
      host,
      clock,
      onLearned: (peer) => {
        records.touch(peer).found ??= 'dht'
      },
    },
  )
  const redial = new Redial(
    {},
    {
      host,
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
    { host, clock, isWanted: (peer) => redial.has(peer), isUseful },
  )
  const forgetting = new Forgetting(
    {},
    {
      host,
      datastore,
      clock,
      log,
      keeps: (peer) => redial.has(peer) || redial.hasMet(peer) || isUseful(peer),
    },
  )
  const links = new Links(
    {},
    {
      host,
      clock,
      log,
      onMended: fillGap,
      onTwin: (peer) => notices.twin(peer),
    },
  )
  const directly = new Directly({}, { host, clock, log })
  const prober = new Prober({}, { host, clock, log, onReplaced: fillGap })
  const memory = new Memory({}, { datastore, reputation, contents, validator, clock, log })
  const fetcher = new Fetcher(
    // A relay keeps frames that it does not use itself, for others.
    { tasks: options.relay ? [] : (options.tasks ?? []).map(({ name }) => name) },
    {
      host,
      traffic: records,
      recentFrames,
      clock,
      log,
      waiting: () => validator.waiting,
      // From an unknown peer, no more than the pool has room for.
      mostMissed: (peer) => (isKnown(peer) ? MAX_LISTED : STRANGER_MISSED),
      // An honest node may leave after announcing a group. So this counts little, and only if the author could be
      // asked.
      onSilent: (owner) => {
        if (records.get(owner)?.connected) reputation.offend(owner, 'silent')
      },
      receive: (frame, source) => void validator.receiveFetched(frame, source),
      onLie: (peer) => reputation.offend(peer, 'reject'),
    },
  )
  const offers = new BulkOffers({}, { host, traffic: records, log })
  const states =
    by.states &&
    new States(
      { ...(options.stateMinutes !== undefined && { minutes: options.stateMinutes }) },
      {
        host,
        traffic: records,
        states: by.states,
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
      host,
      traffic: records,
      clock,
      log,
      random,
      denies: gate.denies,
      onGreeted: (peer) => {
        connectionLimit.hasGreeted(peer)
        void redial.remember(peer)
        void fetcher.catchUp(peer, missedMs(peer))
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

  /** For how long this node may have missed a peer's groups. */
  function missedMs(peer: string): number {
    const now = clock.now()
    const heard = validator.lastAdmittedAt ?? memory.lastAdmittedAt
    const silent = heard === undefined ? FIRST_ASK_MS : now - heard
    const away = records.get(peer)?.disconnectedAt
    return Math.max(silent, away === undefined ? 0 : now - away) + NOTICE_MS
  }

  /** A link was broken for a while without closing, so gossip messages from that time may be lost. */
  function fillGap(peer: string): void {
    clock.after(GAP_SETTLE_MS, () => void fetcher.catchUp(peer, GAP_MS))
  }

  function onCut(peer: string, reason: string): void {
    for (const connection of [...host.getConnections(peerIdFromString(peer))])
      connection.abort(new Error('cut off'))
    onEvent({ type: 'peer', peer, name: peerName(peer), change: 'muted', reason })
    void memory.save()
  }

  function onFound({ id: peer, multiaddrs }: PeerInfo): void {
    const id = peer.toString()
    if (id === self || gate.denies(id)) return
    neighbours.see(id, multiaddrs.map(String))
    const record = records.get(id) ?? records.touch(id)
    if (record.found === undefined) {
      record.found = 'mdns'
      onEvent({ type: 'peer', peer: id, name: record.name, change: 'found' })
    }
    // Peers that a user joined or that were met in this swarm. For others the config decides (neighbours.ts).
    if (redial.has(id) || redial.hasMet(id)) void redial.dial(id)
  }

  host.addEventListener('peer:connect', ({ detail }: CustomEvent<PeerId>) => {
    const id = detail.toString()
    const record = records.touch(id)
    record.connected = true
    notices.over('lan')
    const address = host.getConnections(detail)[0]?.remoteAddr.toString()
    onEvent({ type: 'peer', peer: id, name: record.name, change: 'connected', ...(address && { address }) })
  })
  host.addEventListener('peer:disconnect', ({ detail }: CustomEvent<PeerId>) => {
    const id = detail.toString()
    const record = records.get(id)
    if (record) {
      record.connected = false
      record.disconnectedAt = clock.now()
    }
    onEvent({ type: 'peer', peer: id, name: peerName(id), change: 'disconnected' })
  })
  pubsub.topicValidators.set(topic, (source, message) => validator.validate(source.toString(), message))

  return {
    ...{ host, gate, connectionLimit, dialBackoff, redial, links, directly, prober, greeter, forgetting },
    ...{ book, neighbours, records, reputation, memory, notices, isKnown },
    ...{ validator, verifier, publisher, fetcher, offers, states },
  }
}
