// The swarm's composition: creates the parts, connects them, and starts and stops them in order. It decides nothing
// itself.

import type { PeerId, PeerInfo } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { WaggleError } from '../../protocol/errors.ts'
import { peerName } from '../../protocol/text.ts'
import { type Invite, MAX_LISTED, SWARM_NAME } from '../../protocol/wire/index.ts'
import { AddressBook } from './addresses/address-book.ts'
import { Directly } from './addresses/directly.ts'
import { Lookup } from './addresses/lookup.ts'
import { Neighbours } from './addresses/neighbours.ts'
import { type StunResponder, startStunResponder } from './addresses/stun-responder.ts'
import { Admission } from './admission/admission.ts'
import { ClockWatch } from './admission/clock-watch.ts'
import { Contents } from './admission/contents.ts'
import { GossipValidator } from './admission/gossip-validator.ts'
import { Verifier } from './admission/verify.ts'
import type { Swarm, SwarmOptions, SwarmParts } from './contract.ts'
import { bulkFetch } from './fetch/bulk-fetch.ts'
import { BulkOffers } from './fetch/bulk-offer.ts'
import { Fetcher } from './fetch/fetcher.ts'
import { RecentFrames } from './fetch/recent-frames.ts'
import { States } from './fetch/states.ts'
import { groupsTopic } from './gossip/config.ts'
import { forgetMessage } from './gossip/internals.ts'
import { Publisher } from './gossip/publisher.ts'
import { checkInvite, makeInvite } from './join/inviting.ts'
import { join } from './join/join.ts'
import { parseTarget } from './join/target.ts'
import { Brake } from './libp2p/brake.ts'
import { ConnectionLimit } from './libp2p/connection-limit.ts'
import { createGate } from './libp2p/gate.ts'
import { Handshakes } from './libp2p/handshakes.ts'
import { createHost, type Host, startHost } from './libp2p/host.ts'
import { DialBackoff } from './links/dial-backoff.ts'
import { Forgetting } from './links/forgetting.ts'
import { ENOUGH_LINKS, Greeter } from './links/greet.ts'
import { Links } from './links/links.ts'
import { Prober } from './links/probe.ts'
import { Redial } from './links/redial.ts'
import { Memory } from './peers/memory.ts'
import { viewPeers } from './peers/peers.ts'
import { PeerRecords, refusedBy } from './peers/records.ts'
import { Reputation } from './peers/reputation.ts'
import type { Forwarded } from './router/port-forwarding.ts'
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

export async function createSwarm(options: SwarmOptions, by: SwarmParts): Promise<Swarm> {
  if (!SWARM_NAME.test(options.swarm))
    throw new WaggleError('E_CONFIG', `"${options.swarm}" cannot be a swarm’s name`, {
      hint: 'Use a-z, 0-9 and hyphens, at most 32 characters.',
    })
  const self = by.identity.peerId
  const maxConnections = options.maxConnections ?? 128
  const { clock, log, random, datastore } = by
  const topic = groupsTopic(options.swarm)
  const told = new Set<string>()
  const onEvent = (event: SwarmEvent) => {
    try {
      by.onEvent(event)
    } catch (error) {
      log('error', 'a listener of the swarm failed', { error: String(error) })
    }
  }
  const notice = (key: string, message: string, action?: string) => {
    if (told.has(key)) return
    told.add(key)
    onEvent({ type: 'notice', key, message, ...(action && { action }) })
  }
  const over = (key: string) => {
    if (told.delete(key)) onEvent({ type: 'over', key })
  }

  const records = new PeerRecords({}, { clock })
  const reputation = new Reputation({}, { clock, onCut: (peer, reason) => onCut(peer, reason) })
  const recentFrames = new RecentFrames({}, { clock })
  const contents = new Contents({}, { clock })
  const isKnown = (peer: string) => redial.has(peer) || records.hasEarned(peer)
  const clockWatch = new ClockWatch(
    {},
    {
      clock,
      onOff: (message) =>
        notice(
          'clock',
          message,
          'Set the time of the machine that is wrong: groups that look an hour and a half old, or an hour early, are refused.',
        ),
      onRight: () => over('clock'),
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
      notice: (message, action) => notice('lan', message, action),
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
      onImpostor: () =>
        notice(
          'identity-copied',
          'another node uses this node’s identity: groups signed with its key arrive that it did not write',
          'If this home was copied, delete identity.key in one of the copies and start that one again.',
        ),
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
      onMdnsWorks: () => over('mdns'),
      onMdnsTrouble: (message) =>
        notice(
          'mdns',
          `peers on this network cannot be found automatically: ${message}`,
          'Join with a full address, which `waggle status` prints on the other node.',
        ),
      forwarding: { clock, random, log, onForwarded },
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
      onTwin: (peer) =>
        notice(
          `twin-${peer}`,
          `${peerName(peer)} is connected twice: two nodes have one identity, and hear only part of the swarm`,
          'If that is yours, delete identity.key in one of the two homes and start that one again.',
        ),
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
      onMismatch: (peer, why) =>
        notice(
          `rules-${peer}`,
          `${peerName(peer)} has different swarm rules: ${why}`,
          'Groups are not exchanged with it.',
        ),
      onContact: (peer, addresses) => {
        records.touch(peer).found ??= 'exchange'
        book.heard(peer, addresses)
      },
      dial: (peer) => redial.dial(peer),
      addressesOf: (peer) => book.tellable(peer),
    },
  )

  function onForwarded(outcome: Forwarded): void {
    if ('addresses' in outcome) {
      over('upnp')
      log('info', 'the router forwards a port', { addresses: outcome.addresses })
    } else
      notice(
        'upnp',
        `UPnP forwards no port: ${outcome.trouble}`,
        'Turn UPnP on in the router, or forward the port there by hand and name it under [swarm] announce.',
      )
  }

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
    over('lan')
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
  let used = 0
  let stunResponder: StunResponder | undefined

  return {
    peerId: self,
    name: options.swarm,
    async start() {
      await memory.start()
      await greeter.start()
      await fetcher.start()
      await offers.start()
      await states?.start()
      connectionLimit.start()
      dialBackoff.start()
      await startHost(host, options)
      if (options.stunPort !== undefined)
        stunResponder = await startStunResponder({ port: options.stunPort }, { clock })
      pubsub.subscribe(topic)
      links.start()
      if (options.webrtc) directly.start()
      prober.start()
      await redial.start()
      await forgetting.start()
      for (const address of options.bootstrap ?? []) {
        const target = parseTarget(address, { self })
        if (target.peerId === undefined) continue
        await redial.want(target.peerId, target.address ? [target.address] : [])
        void redial.dial(target.peerId)
      }
    },
    async stop() {
      redial.stop()
      neighbours.stop()
      connectionLimit.stop()
      dialBackoff.stop()
      links.stop()
      directly.stop()
      prober.stop()
      greeter.stop()
      fetcher.stop()
      states?.stop()
      validator.close()
      await stunResponder?.stop()
      await forgetting.stop()
      await memory.stop()
      await host.stop()
    },
    addresses: () => host.getMultiaddrs().map(String),
    publish: (draft) => publisher.publish(draft),
    async join(target, joining = {}) {
      gate.close(false)
      dialBackoff.reset()
      over('lan')
      const accepts = (invite: Invite) => checkInvite(invite, options)
      return await join(target, joining, {
        accepts,
        host,
        redial,
        greeter,
        clock,
        denies: gate.denies,
        places: whereSought,
      })
    },
    async leave() {
      gate.close(true)
      await redial.clear()
      await Promise.all(host.getPeers().map((peer) => host.hangUp(peer).catch(() => {})))
    },
    peers: () =>
      viewPeers({
        host,
        topic,
        records,
        reputation,
        isWanted: (id) => redial.has(id),
        isNearby: (id) => neighbours.has(id),
      }),
    counters: () => ({
      connected: host.getPeers().length,
      known: records.all().length,
      published: publisher.count,
      received: records.all().reduce((sum, peer) => sum + peer.published, 0),
      verified: validator.verified,
      used,
      waiting: validator.waiting,
      refused: refusedBy(records.refused),
      droppedTexts: verifier.droppedTexts,
      bytesIn: records.bytesIn,
      bytesOut: records.bytesOut,
    }),
    used(author, groups = 1) {
      used += groups
      const record = records.get(author)
      if (record) record.used += groups
    },
    known: () => [...records.all().map(({ id }) => id), ...redial.all(), ...reputation.all()],
    isKnown,
    mute(peerId, on) {
      reputation.mute(peerId, on)
      onEvent({ type: 'peer', peer: peerId, name: peerName(peerId), change: on ? 'muted' : 'unmuted' })
      void memory.save()
    },
    invite: () =>
      makeInvite(options, {
        host,
        wanted: redial.ids(),
        stunPort: stunResponder?.port,
        addressesOf: (peer) => book.tellable(peer),
      }),
    offer: (file) => offers.offer(file),
    withdraw: (id) => offers.withdraw(id),
    download: (request) => bulkFetch(request, { host, traffic: records, clock, log }),
  }

  /** Says in words where a bare peer ID is searched for. */
  function whereSought(): string {
    const where = [
      ...(options.lan === 'off' ? [] : ['on the local network']),
      ...(options.wide !== false && host.getPeers().length > 0 ? ['through connected peers'] : []),
    ]
    return where.join(' and ') || 'among known addresses'
  }
}
