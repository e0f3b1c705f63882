// The swarm's composition: builds the parts, starts and stops them in order, and is the face that the rest of the daemon
// sees. Decides nothing by itself.

import { peerIdFromString } from '@libp2p/peer-id'
import type { Datastore } from 'interface-datastore'
import { WaggleError } from '../../protocol/errors.ts'
import { peerName } from '../../protocol/text.ts'
import { contentId, encodeGroup, type GroupDraft, MAX_GOSSIP_BYTES } from '../../protocol/wire/index.ts'
import { Admission } from './admission.ts'
import { Verifier } from './admission-verify.ts'
import { createGate } from './gate.ts'
import { groupsTopic } from './gossip-config.ts'
import { createHost, type Host, startHost } from './host.ts'
import type { Identity } from './identity.ts'
import { Inbox } from './inbox.ts'
import { type JoinOutcome, type JoinProgress, join } from './join.ts'
import { Ledger, refusedBy } from './ledger.ts'
import { Links } from './links.ts'
import { type PeerView, viewPeers } from './peers.ts'
import type { Reason } from './reasons.ts'
import { Redial } from './redial.ts'
import { Standing } from './standing.ts'
import { parseTarget } from './target.ts'
import type { Clock, Codec, Log, SwarmEvent, TaskSource } from './types.ts'

export interface SwarmOptions {
  /** Nodes meet only within a swarm of one name, `[a-z0-9][a-z0-9-]{0,31}`. */
  swarm: string
  listen: readonly string[]
  /** Addresses to tell others beside those found. */
  announce?: readonly string[]
  /** Addresses with peer IDs, dialled for as long as the node runs. */
  bootstrap?: readonly string[]
  mdns?: boolean
  /** Peer IDs that may connect; anyone if left out. */
  allow?: readonly string[]
  maxConnections?: number
  /** Ways of presenting a prompt that this node can repeat. */
  arms?: readonly string[]
  /** Longer completions of others are not trained on. */
  maxCompletionTokens: number
}

export interface SwarmCollaborators {
  identity: Pick<Identity, 'key' | 'peerId' | 'signer'>
  clock: Clock
  log: Log
  tasks: TaskSource
  codec: Codec
  /** This node's own policy version. */
  version(): number
  /** Must return quickly; what it throws is logged. */
  onEvent(event: SwarmEvent): void
  /** Remembers peers over restarts. Opened and closed by whoever made it. */
  datastore?: Datastore
}

export interface Published {
  /** Content id. */
  id: string
  bytes: number
  /** Peers that it was handed to; more get it from them. */
  recipients: number
}

export interface SwarmCounters {
  connected: number
  known: number
  published: number
  received: number
  verified: number
  used: number
  /** Waiting to be verified. */
  waiting: number
  refused: Partial<Record<Reason, number>>
  bytesIn: number
  bytesOut: number
}

export interface Swarm {
  readonly peerId: string
  /** The swarm's name. */
  readonly name: string
  start(): Promise<void>
  stop(): Promise<void>
  /** Multiaddrs with this node's peer ID. */
  addresses(): string[]
  /** Signs and sends a group of this node's own. Throws E_WIRE for one that no receiver would take. */
  publish(draft: GroupDraft): Promise<Published>
  /** Connects to a peer and stays connected. See join.ts: throws E_PEER only for what no search could find. */
  join(
    target: string,
    options?: { signal?: AbortSignal; onProgress?: (progress: JoinProgress) => void },
  ): Promise<JoinOutcome>
  /** Forgets all peers that were joined, disconnects from everyone, and lets nobody in until the next join. */
  leave(): Promise<void>
  peers(): PeerView[]
  counters(): SwarmCounters
  /** Groups of this author were trained on. */
  used(author: string, groups?: number): void
  mute(peerId: string, on: boolean): void
}

const SWARM_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/

export async function createSwarm(options: SwarmOptions, by: SwarmCollaborators): Promise<Swarm> {
  if (!SWARM_NAME.test(options.swarm))
    throw new WaggleError('E_CONFIG', `"${options.swarm}" cannot be a swarm’s name`, {
      hint: 'Use a-z, 0-9 and hyphens, at most 32 characters.',
    })
  const self = by.identity.peerId
  const { clock, log } = by
  const topic = groupsTopic(options.swarm)
  const onEvent = (event: SwarmEvent) => {
    try {
      by.onEvent(event)
    } catch (error) {
      log('error', 'a listener of the swarm failed', { error: String(error) })
    }
  }
  let host: Host | undefined
  const hangUp = (id: string) => {
    for (const connection of host?.getConnections(peerIdFromString(id)) ?? [])
      connection.abort(new Error('cut off'))
  }
  const ledger = new Ledger({}, { clock })
  const standing = new Standing(
    {},
    {
      clock,
      onCut: (peer, reason) => {
        hangUp(peer)
        onEvent({ type: 'peer', peer, name: peerName(peer), change: 'muted', reason })
      },
    },
  )
  const gate = createGate(options, { isCut: (peer) => standing.isCut(peer) })
  const admission = new Admission(
    { self, arms: options.arms ?? ['base'] },
    { tasks: by.tasks, ledger, clock, isMuted: (peer) => standing.isMuted(peer) },
  )
  const verifier = new Verifier(options, by)
  const inbox = new Inbox({}, { admission, verifier, ledger, standing, clock, log, onEvent })
  let mdnsTold = false
  host = await createHost(
    {
      swarm: options.swarm,
      topics: [topic],
      listen: options.listen,
      announce: options.announce ?? [],
      mdns: options.mdns ?? true,
      maxConnections: options.maxConnections ?? 128,
    },
    {
      identity: by.identity,
      ...(by.datastore && { datastore: by.datastore }),
      gater: gate,
      guard: inbox.guard,
      onFound: ({ id }) => found(id.toString()),
      onMdnsTrouble: (message) => {
        if (mdnsTold) return
        mdnsTold = true
        onEvent({
          type: 'notice',
          key: 'mdns',
          message: `peers on this network cannot be found by themselves: ${message}`,
          action: 'Join with a full address, which `waggle status` prints on the other node.',
        })
      },
    },
  )
  const running = host
  const redial = new Redial({}, { host: running, datastore: by.datastore, clock, log })
  const links = new Links({}, { host: running, clock, log })
  const { pubsub } = running.services

  const found = (id: string) => {
    if (id === self || gate.denies(id)) return
    const record = ledger.get(id) ?? ledger.touch(id)
    if (record.found === undefined) {
      record.found = 'mdns'
      onEvent({ type: 'peer', peer: id, name: record.name, change: 'found' })
    }
    // Neighbours of a node that is in a swarm are welcome; one that works alone is left alone until somebody joins.
    if (redial.has(id) || running.getPeers().length > 0) void redial.dial(id)
  }

  running.addEventListener('peer:connect', ({ detail }) => {
    const id = detail.toString()
    const record = ledger.touch(id)
    record.connected = true
    const address = running.getConnections(detail)[0]?.remoteAddr.toString()
    onEvent({ type: 'peer', peer: id, name: record.name, change: 'connected', ...(address && { address }) })
  })
  running.addEventListener('peer:disconnect', ({ detail }) => {
    const id = detail.toString()
    const record = ledger.get(id)
    if (record) record.connected = false
    onEvent({ type: 'peer', peer: id, name: peerName(id), change: 'disconnected' })
  })
  pubsub.topicValidators.set(topic, (source, message) => inbox.validate(source.toString(), message))

  let sequence = 0
  let published = 0
  let bytesOut = 0
  let used = 0

  return {
    peerId: self,
    name: options.swarm,
    async start() {
      await startHost(running, options)
      pubsub.subscribe(topic)
      links.start()
      await redial.start()
      for (const address of options.bootstrap ?? []) {
        const target = parseTarget(address, { self })
        if (target.peerId !== undefined)
          await redial.want(target.peerId, target.address ? [target.address] : [])
      }
    },
    async stop() {
      redial.stop()
      links.stop()
      inbox.close()
      await running.stop()
    },
    addresses: () => running.getMultiaddrs().map(String),
    async publish(draft) {
      // By the clock, so that numbers go on rising over a restart without having been saved.
      sequence = Math.max(sequence + 1, clock.now())
      const bytes = encodeGroup({ ...draft, sequence, createdAt: clock.now() }, by.identity.signer)
      if (bytes.length > MAX_GOSSIP_BYTES)
        throw new WaggleError(
          'E_WIRE',
          `this group has ${bytes.length} bytes, and gossip carries ${MAX_GOSSIP_BYTES}`,
        )
      const id = contentId(
        draft.prompt,
        draft.rollouts.map((rollout) => rollout.text),
      )
      // Copies of our own groups are copies.
      admission.seen.add(id)
      const { recipients } = await pubsub.publish(topic, bytes)
      published++
      bytesOut += bytes.length * recipients.length
      return { id, bytes: bytes.length, recipients: recipients.length }
    },
    async join(target, joining = {}) {
      gate.close(false)
      return await join(target, joining, {
        host: running,
        redial,
        clock,
        denies: gate.denies,
        places: () => (options.mdns === false ? 'among known addresses' : 'on the local network (mDNS)'),
      })
    },
    async leave() {
      gate.close(true)
      await redial.clear()
      await Promise.all(running.getPeers().map((peer) => running.hangUp(peer).catch(() => {})))
    },
    peers: () => viewPeers({ host: running, topic, ledger, standing, isWanted: (id) => redial.has(id) }),
    counters: () => ({
      connected: running.getPeers().length,
      known: ledger.all().length,
      published,
      received: ledger.all().reduce((sum, peer) => sum + peer.published, 0),
      verified: inbox.verified,
      used,
      waiting: inbox.waiting,
      refused: refusedBy(ledger.refused),
      bytesIn: inbox.bytesIn,
      bytesOut,
    }),
    used(author, groups = 1) {
      used += groups
      const record = ledger.get(author)
      if (record) record.used += groups
    },
    mute(peerId, on) {
      standing.mute(peerId, on)
      onEvent({ type: 'peer', peer: peerId, name: peerName(peerId), change: on ? 'muted' : 'unmuted' })
    },
  }
}
