// The swarm's composition: builds the parts, ties them together, starts and stops them in order. Decides nothing by itself.

import type { PeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { WaggleError } from '../../protocol/errors.ts'
import { peerName } from '../../protocol/text.ts'
import { type Invite, SWARM_NAME } from '../../protocol/wire/index.ts'
import { Admission } from './admission.ts'
import { Verifier } from './admission-verify.ts'
import { Brake } from './brake.ts'
import { bulkFetch } from './bulk-fetch.ts'
import { BulkOffers } from './bulk-offer.ts'
import type { Swarm, SwarmCollaborators, SwarmOptions } from './contract.ts'
import { Directly } from './directly.ts'
import { Fetcher } from './fetcher.ts'
import { createGate } from './gate.ts'
import { groupsTopic } from './gossip-config.ts'
import { forgetMessage } from './gossip-internals.ts'
import { Greeter } from './greet.ts'
import { createHost, type Host, startHost } from './host.ts'
import { Inbox } from './inbox.ts'
import { checkInvite, makeInvite } from './inviting.ts'
import { join } from './join.ts'
import { Ledger, refusedBy } from './ledger.ts'
import { Links } from './links.ts'
import { Lookup } from './lookup.ts'
import { Memory } from './memory.ts'
import { viewPeers } from './peers.ts'
import type { Forwarded } from './port-forwarding.ts'
import { Prober } from './probe.ts'
import { Publisher } from './publisher.ts'
import { Redial } from './redial.ts'
import { Shelf } from './shelf.ts'
import { Standing } from './standing.ts'
import { States } from './states.ts'
import { type StunResponder, startStunResponder } from './stun-responder.ts'
import { parseTarget } from './target.ts'
import type { SwarmEvent } from './types.ts'

/** A peer may have been away for this long before its connection was given up. */
const NOTICE_MS = 35_000
/** After a broken link: longer than it takes to notice one. Asking costs 32 bytes a group, so it may be generous. */
const GAP_MS = 60_000
const GAP_SETTLE_MS = 500
/** What a node that meets the swarm for the first time asks for. */
const FIRST_ASK_MS = 120_000

export async function createSwarm(options: SwarmOptions, by: SwarmCollaborators): Promise<Swarm> {
  if (!SWARM_NAME.test(options.swarm))
    throw new WaggleError('E_CONFIG', `"${options.swarm}" cannot be a swarm’s name`, {
      hint: 'Use a-z, 0-9 and hyphens, at most 32 characters.',
    })
  const self = by.identity.peerId
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

  const ledger = new Ledger({}, { clock })
  const standing = new Standing({}, { clock, onCut: (peer, reason) => onCut(peer, reason) })
  const shelf = new Shelf({}, { clock })
  const gate = createGate(options, { isCut: (peer) => standing.isCut(peer) })
  const admission = new Admission(
    { self, arms: options.arms ?? ['base'], carry: options.relay ?? false },
    {
      tasks: by.tasks,
      ledger,
      clock,
      isMuted: (peer) => standing.isMuted(peer),
      isWanted: (peer) => redial.has(peer),
      onImpostor: () =>
        notice(
          'identity-copied',
          'another node uses this node’s identity: groups signed with its key arrive that it did not write',
          'If this home was copied, delete identity.key in one of the copies and start that one again.',
        ),
    },
  )
  const verifier = new Verifier(options, by)
  const inbox = new Inbox(
    { carry: options.relay ?? false },
    {
      admission,
      verifier,
      ledger,
      standing,
      clock,
      log,
      onEvent,
      onAdmitted: (frame, task) => shelf.add(frame, task),
      slow: (peer, ms) => brake.slow(peer, ms),
      forget: (message) => forgetMessage(pubsub, message),
      onAnnounced: ({ hash, author }, source) => void fetcher.fetchAnnounced(hash, [source, author]),
    },
  )
  const host: Host = await createHost(
    {
      swarm: options.swarm,
      topics: [topic],
      listen: options.listen,
      announce: options.announce ?? [],
      mdns: options.mdns ?? true,
      wide: options.wide ?? true,
      upnp: options.upnp ?? false,
      relay: options.relay ?? false,
      webrtc: options.webrtc ?? false,
      ...(options.psk && { psk: options.psk }),
      maxConnections: options.maxConnections ?? 128,
    },
    {
      identity: by.identity,
      ...(datastore && { datastore }),
      gater: gate,
      guard: {
        ...inbox.guard,
        frame: (peer, bytes) => {
          prober.heard(peer)
          return inbox.guard.frame(peer, bytes)
        },
      },
      stun: () => options.stun ?? [],
      onFound: ({ id }) => onFound(id.toString()),
      onMdnsWorks: () => over('mdns'),
      onMdnsTrouble: (message) =>
        notice(
          'mdns',
          `peers on this network cannot be found by themselves: ${message}`,
          'Join with a full address, which `waggle status` prints on the other node.',
        ),
      forwarding: { clock, random, log, onForwarded },
    },
  )
  const { pubsub } = host.services
  const brake = new Brake({}, { host, clock })
  const publisher = new Publisher(
    { topic },
    { identity: by.identity, codec: by.codec, pubsub, admission, shelf, clock },
  )
  const lookup = new Lookup(
    {},
    {
      host,
      clock,
      onLearned: (peer) => {
        ledger.touch(peer).found ??= 'dht'
      },
    },
  )
  const redial = new Redial(
    {},
    { host, datastore, clock, log, random, lookup: (peer, signal) => lookup.find(peer, signal) },
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
  const memory = new Memory({}, { datastore, standing, seen: admission.seen, inbox, clock, log })
  const fetcher = new Fetcher(
    // A relay keeps for others what it has no use for itself.
    { tasks: options.relay ? [] : (options.tasks ?? []).map(({ name }) => name) },
    {
      host,
      traffic: ledger,
      shelf,
      clock,
      log,
      waiting: () => inbox.waiting,
      receive: (frame, source) => void inbox.receiveFetched(frame, source),
      onLie: (peer) => standing.offend(peer, 'reject'),
    },
  )
  const offers = new BulkOffers({}, { host, traffic: ledger, log })
  const states =
    by.states &&
    new States(
      { ...(options.stateMinutes !== undefined && { minutes: options.stateMinutes }) },
      {
        host,
        traffic: ledger,
        states: by.states,
        clock,
        random,
        log,
        isMuted: (peer) => standing.isMuted(peer),
        onLie: (peer) => standing.offend(peer, 'reject'),
      },
    )
  const greeter = new Greeter(
    { rules: { swarm: options.swarm, tasks: [...(options.tasks ?? [])] } },
    {
      host,
      traffic: ledger,
      clock,
      log,
      random,
      denies: gate.denies,
      onGreeted: (peer) => {
        void redial.remember(peer)
        void fetcher.catchUp(peer, missedMs(peer))
      },
      onMismatch: (peer, why) =>
        notice(
          `rules-${peer}`,
          `${peerName(peer)} plays by other rules: ${why}`,
          'Groups are not exchanged with it.',
        ),
      onContact: (peer) => {
        ledger.touch(peer).found ??= 'exchange'
      },
    },
  )

  function onForwarded(outcome: Forwarded): void {
    if ('addresses' in outcome) {
      over('upnp')
      log('info', 'the router forwards a port', { addresses: outcome.addresses })
    } else
      notice(
        'upnp',
        `no port is forwarded by UPnP: ${outcome.trouble}`,
        'Turn UPnP on in the router, or forward the port there by hand and name it under [swarm] announce.',
      )
  }

  /** For how long a peer's groups may have passed us by. */
  function missedMs(peer: string): number {
    const now = clock.now()
    const heard = inbox.lastAdmittedAt ?? memory.lastAdmittedAt
    const silent = heard === undefined ? FIRST_ASK_MS : now - heard
    const away = ledger.get(peer)?.disconnectedAt
    return Math.max(silent, away === undefined ? 0 : now - away) + NOTICE_MS
  }

  /** A link was broken for a while without having been closed: what gossip said meanwhile may be gone. */
  function fillGap(peer: string): void {
    clock.after(GAP_SETTLE_MS, () => void fetcher.catchUp(peer, GAP_MS))
  }

  function onCut(peer: string, reason: string): void {
    for (const connection of [...host.getConnections(peerIdFromString(peer))])
      connection.abort(new Error('cut off'))
    onEvent({ type: 'peer', peer, name: peerName(peer), change: 'muted', reason })
    void memory.save()
  }

  function onFound(id: string): void {
    if (id === self || gate.denies(id)) return
    const record = ledger.get(id) ?? ledger.touch(id)
    if (record.found === undefined) {
      record.found = 'mdns'
      onEvent({ type: 'peer', peer: id, name: record.name, change: 'found' })
    }
    // Only whom a person joined, or who was met in this swarm: strangers on the same network are left alone.
    if (redial.has(id) || redial.hasMet(id)) void redial.dial(id)
  }

  host.addEventListener('peer:connect', ({ detail }: CustomEvent<PeerId>) => {
    const id = detail.toString()
    const record = ledger.touch(id)
    record.connected = true
    const address = host.getConnections(detail)[0]?.remoteAddr.toString()
    onEvent({ type: 'peer', peer: id, name: record.name, change: 'connected', ...(address && { address }) })
  })
  host.addEventListener('peer:disconnect', ({ detail }: CustomEvent<PeerId>) => {
    const id = detail.toString()
    const record = ledger.get(id)
    if (record) {
      record.connected = false
      record.disconnectedAt = clock.now()
    }
    onEvent({ type: 'peer', peer: id, name: peerName(id), change: 'disconnected' })
  })
  pubsub.topicValidators.set(topic, (source, message) => inbox.validate(source.toString(), message))
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
      await startHost(host, options)
      if (options.stunPort !== undefined)
        stunResponder = await startStunResponder({ port: options.stunPort }, { clock })
      pubsub.subscribe(topic)
      links.start()
      if (options.webrtc) directly.start()
      prober.start()
      await redial.start()
      for (const address of options.bootstrap ?? []) {
        const target = parseTarget(address, { self })
        if (target.peerId === undefined) continue
        await redial.want(target.peerId, target.address ? [target.address] : [])
        void redial.dial(target.peerId)
      }
    },
    async stop() {
      redial.stop()
      links.stop()
      directly.stop()
      prober.stop()
      greeter.stop()
      fetcher.stop()
      states?.stop()
      inbox.close()
      await stunResponder?.stop()
      await memory.stop()
      await host.stop()
    },
    addresses: () => host.getMultiaddrs().map(String),
    publish: (draft) => publisher.publish(draft),
    async join(target, joining = {}) {
      gate.close(false)
      const accepts = (invite: Invite) => checkInvite(invite, options)
      return await join(target, joining, {
        accepts,
        host,
        redial,
        greeter,
        clock,
        denies: gate.denies,
        places,
      })
    },
    async leave() {
      gate.close(true)
      await redial.clear()
      await Promise.all(host.getPeers().map((peer) => host.hangUp(peer).catch(() => {})))
    },
    peers: () => viewPeers({ host, topic, ledger, standing, isWanted: (id) => redial.has(id) }),
    counters: () => ({
      connected: host.getPeers().length,
      known: ledger.all().length,
      published: publisher.count,
      received: ledger.all().reduce((sum, peer) => sum + peer.published, 0),
      verified: inbox.verified,
      used,
      waiting: inbox.waiting,
      refused: refusedBy(ledger.refused),
      droppedTexts: verifier.droppedTexts,
      bytesIn: ledger.bytesIn,
      bytesOut: ledger.bytesOut,
    }),
    used(author, groups = 1) {
      used += groups
      const record = ledger.get(author)
      if (record) record.used += groups
    },
    mute(peerId, on) {
      standing.mute(peerId, on)
      onEvent({ type: 'peer', peer: peerId, name: peerName(peerId), change: on ? 'muted' : 'unmuted' })
      void memory.save()
    },
    invite: () => makeInvite(options, { host, wanted: redial.ids(), stunPort: stunResponder?.port }),
    offer: (file) => offers.offer(file),
    withdraw: (id) => offers.withdraw(id),
    download: (request) => bulkFetch(request, { host, traffic: ledger, clock, log }),
  }

  /** Where a bare peer ID is looked for, in words. */
  function places(): string {
    const where = [
      ...(options.mdns === false ? [] : ['on the local network']),
      ...(options.wide !== false && host.getPeers().length > 0 ? ['through connected peers'] : []),
    ]
    return where.join(' and ') || 'among known addresses'
  }
}
