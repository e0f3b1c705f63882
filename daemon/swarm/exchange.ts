// The exchange of groups, without libp2p: records of peers, admission, verification, publishing, fetching missed
// groups, and what is kept across restarts. It reaches the network through three ports: gossip, requests and `links`.
// assembly/ connects them to libp2p; the simulation supplies its own.

import { type Frame, MAX_LISTED } from '../../protocol/wire/index.ts'
import { Admission } from './admission/admission.ts'
import { ClockWatch } from './admission/clock-watch.ts'
import { GossipValidator } from './admission/gossip-validator.ts'
import { SeenContent } from './admission/seen-content.ts'
import { Verifier } from './admission/verify.ts'
import type { SwarmOptions, SwarmParts } from './contract.ts'
import { Fetcher } from './fetch/fetcher.ts'
import { RecentFrames } from './fetch/recent-frames.ts'
import { type Gossip, Publisher } from './gossip/publisher.ts'
import { createHeads, type HeadsParts } from './heads/heads.ts'
import { createTransferLimits } from './heads/transfer-limits.ts'
import type { Requests } from './libp2p/streams.ts'
import { PeerNews } from './peers/news.ts'
import { PeerRecords } from './peers/records.ts'
import { Reputation } from './peers/reputation.ts'
import { SwarmRecord } from './peers/swarm-record.ts'
import { createReceipts } from './receipts/receipts.ts'

interface ExchangeOptions
  extends Pick<SwarmOptions, 'tasks' | 'arms' | 'relay' | 'maxCompletionTokens' | 'headBytesPerHour'> {
  /** IDs per filter of admitted frames; see admission/seen.ts. */
  filterEntries?: number | undefined
}

interface ExchangeParts
  extends Pick<
    SwarmParts,
    | 'clock'
    | 'log'
    | 'tasks'
    | 'codec'
    | 'version'
    | 'onGroup'
    | 'onEvent'
    | 'datastore'
    | 'hasWritten'
    | 'isUnknown'
    | 'isTrainedElsewhere'
    | 'onAccusation'
    | 'isTrusted'
  > {
  identity: Pick<SwarmParts['identity'], 'peerId' | 'signer'>
  gossip: Gossip
  /** Creates the request client; it counts its traffic in `records`. */
  requests(records: PeerRecords): Requests
  links: {
    /** Closes all connections to a peer. */
    cut(peer: string): void
    /** Stops reading from a peer for `ms`. */
    slow(peer: string, ms: number): void
  }
  /** True for peers that the user joined. */
  isWanted(peer: string): boolean
  /** True for peers on this machine or this local network. Default: none. */
  isNear?(peer: string): boolean
  /** True while uploads are behind: groups are then neither published nor forwarded. Default: never. */
  isBehind?(): boolean
  /** Called with a message if this node's clock is off, and with undefined when it is right again. */
  onClock(trouble: string | undefined): void
  onImpostor(): void
  /** A peer delivers more groups of unknown authors than this node needs to get to know them. */
  onUnneeded?(peer: string): void
  /** Whether a frame's signature is valid. Default: Ed25519. A simulation of a thousand nodes uses a cheaper check. */
  isAuthentic?: ((frame: Frame) => boolean) | undefined
  /** Runs something in the next turn of the event loop. Default: setImmediate. */
  soon?: ((run: () => void) => void) | undefined
  /** Salt of the ID filters; see admission/seen.ts. Default: random. */
  salt?: Uint8Array | undefined
}

export type Exchange = ReturnType<typeof createExchange>

/** A peer may have been gone for this long before its connection was closed. */
const NOTICE_MS = 35_000
/** How far back to fetch after a broken link: longer than detecting one takes. A request costs 32 bytes per group. */
const GAP_MS = 60_000
const GAP_SETTLE_MS = 500
/** Maximum number of missed groups to fetch from an unknown peer, whoever signed them. */
const STRANGER_MISSED = 512
/** How far back a node asks when it first joins the swarm. */
const FIRST_ASK_MS = 120_000
/** Peers that connect within this time of the first one are asked as far back as the first. */
const MEETING_MS = 60_000

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: puts the parts of the exchange together; each is built once, in order.
export function createExchange(options: ExchangeOptions, parts: ExchangeParts) {
  const { clock, log, datastore, onEvent, isWanted } = parts
  const records = new PeerRecords({}, { clock })
  const reputation = new Reputation({}, { clock, onCut })
  const news = new PeerNews({}, { clock, isWanted, onEvent })
  const recentFrames = new RecentFrames({}, { clock })
  const { filterEntries } = options
  const seenContent = new SeenContent({ filterEntries }, parts)
  const isKnown = (peer: string) => isWanted(peer) || records.isProven(peer)
  const isBehind = parts.isBehind ?? (() => false)
  const clockWatch = new ClockWatch(
    {},
    { clock, onOff: (message) => parts.onClock(message), onRight: () => parts.onClock(undefined) },
  )
  const admission = new Admission(
    {
      ...{ self: parts.identity.peerId, arms: options.arms ?? ['base'], carry: options.relay ?? false },
      filterEntries,
    },
    {
      tasks: parts.tasks,
      records,
      seenContent,
      clock,
      isMuted: (peer) => reputation.isMuted(peer),
      isWanted,
      isKnown,
      onDated: (author, aheadMs) => clockWatch.dated(author, aheadMs),
      onImpostor: parts.onImpostor,
      onUnneeded: parts.onUnneeded,
      salt: parts.salt,
      ...(parts.isAuthentic && { isAuthentic: parts.isAuthentic }),
    },
  )
  const verifier = new Verifier(options, { ...parts, seenContent, isKnown })
  const validator = new GossipValidator(
    { carry: options.relay ?? false },
    {
      admission,
      verifier,
      records,
      reputation,
      isKnown,
      isBehind,
      clock,
      log,
      soon: parts.soon,
      onGroup: parts.onGroup,
      isTrainedElsewhere: parts.isTrainedElsewhere,
      onAccusation: parts.onAccusation,
      onEvent,
      onUnneeded: parts.onUnneeded,
      onAdmitted: (frame, task) => recentFrames.add(frame, task),
      slow: (peer, ms) => parts.links.slow(peer, ms),
      forget: (message) => parts.gossip.forget(message),
      onAnnounced({ hash, author }, source) {
        const isAnswerable = author === source || isKnown(author) || records.get(author)?.connected === true
        fetcher.announced(hash, isAnswerable ? author : source, [source, author])
      },
    },
  )
  const publisher = new Publisher({}, { ...parts, admission, recentFrames, isBehind })
  const memory = new SwarmRecord({}, { datastore, reputation, seenContent, validator, clock, log })
  const requests = parts.requests(records)
  const fetcher = new Fetcher(
    // A relay keeps all frames for others, although it uses none itself.
    { tasks: options.relay ? [] : (options.tasks ?? []).map(({ name }) => name) },
    {
      requests,
      recentFrames,
      clock,
      log,
      isBehind,
      waiting: () => validator.waiting,
      // An unknown peer may not bring more than the pool has room for.
      mostMissed: (peer) => (isKnown(peer) ? MAX_LISTED : STRANGER_MISSED),
      // An honest node may leave after announcing a group, so this counts little, and only if the author was connected
      // and could be asked.
      onSilent: (owner) => {
        if (records.get(owner)?.connected) reputation.offend(owner, 'silent')
      },
      receive: (frame, source) => void validator.receiveFetched(frame, source),
      onLie: (peer) => reputation.offend(peer, 'reject'),
    },
  )

  const weighing: HeadsParts = {
    ...{ requests, clock, log, isBehind, identity: parts.identity, isAuthentic: parts.isAuthentic },
    // Heads and what is behind receipts share one limit.
    limits: createTransferLimits({ mostPerHour: options.headBytesPerHour }, parts),
    isMuted: (peer) => reputation.isMuted(peer),
    onLie: (peer) => reputation.offend(peer, 'reject'),
  }
  const heads = createHeads(weighing)
  const receipts = createReceipts(weighing)

  /** When this node, having had no peers, last met one, and when it had last received a group before that. */
  let meeting: { at: number; heard: number | undefined } | undefined
  const lastHeard = (): number | undefined => validator.lastAdmittedAt ?? memory.lastAdmittedAt

  /** For how long, in ms, this node may have missed a peer's groups. */
  function missedMs(peer: string): number {
    const now = clock.now()
    // Gossip may deliver a new group before the first peer has been asked for older ones.
    const heard = meeting && now - meeting.at <= MEETING_MS ? meeting.heard : lastHeard()
    const silent = heard === undefined ? FIRST_ASK_MS : now - heard
    const away = records.get(peer)?.disconnectedAt
    return Math.max(silent, away === undefined ? 0 : now - away) + NOTICE_MS
  }

  function onCut(peer: string, reason: string): void {
    parts.links.cut(peer)
    news.cut(peer, reason)
    memory.saveSoon()
  }

  return {
    ...{
      records,
      reputation,
      contents: seenContent,
      admission,
      verifier,
      validator,
      publisher,
      memory,
      fetcher,
    },
    ...{ recentFrames, isKnown, news, heads, receipts },
    /** Call before the network starts. */
    async start(): Promise<void> {
      await memory.start()
      if (memory.ranUntil !== undefined) admission.resume(memory.ranUntil)
      await fetcher.start()
      await heads.start()
      await receipts.start()
    },
    /** Call after `fetcher` and `validator` have stopped, at any later time. */
    stop: () => memory.stop(),
    onConnected(peer: string, address?: string): void {
      if (!records.all().some(({ connected }) => connected)) meeting = { at: clock.now(), heard: lastHeard() }
      records.touch(peer).connected = true
      news.connected(peer, address)
    },
    onDisconnected(peer: string): void {
      const record = records.get(peer)
      if (record) {
        record.connected = false
        record.disconnectedAt = clock.now()
      }
      news.disconnected(peer)
    },
    /** The peer is a member of the swarm. Asks it for groups that this node has missed. */
    onGreeted: (peer: string): void => void fetcher.catchUp(peer, missedMs(peer)),
    /** A link was broken for a while without closing, so gossip messages from that time may be lost. */
    fillGap(peer: string): void {
      clock.after(GAP_SETTLE_MS, () => void fetcher.catchUp(peer, GAP_MS))
    },
  }
}
