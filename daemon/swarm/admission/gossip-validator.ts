// Turns a peer's bytes into verified groups: quotas before decoding, admission, the queue, verification, and penalties
// for refused messages. The only place where gossip, admission and reputation meet.

import { TopicValidatorResult } from '@libp2p/gossipsub'
import { type Group, isZeroSignal } from '../../../protocol/train/index.ts'
import { type Accusation, type Announcement, claimedAuthor } from '../../../protocol/wire/index.ts'
import type { GossipGuard } from '../gossip/internals.ts'
import { MAX_KNOWN_PEERS, type PeerRecords } from '../peers/records.ts'
import type { Reputation } from '../peers/reputation.ts'
import type { Clock, Log, SwarmEvent } from '../types.ts'
import type { Admission, Admitted } from './admission.ts'
import { FairShare } from './fair-share.ts'
import { FreshQueue } from './queue.ts'
import { Meter } from './quota.ts'
import { BY_AUTHOR, type Reason, verdictOf } from './reasons.ts'
import { Turns } from './turns.ts'
import type { Verifier } from './verify.ts'

interface GossipValidatorParts {
  admission: Admission
  verifier: Verifier
  records: PeerRecords
  reputation: Reputation
  clock: Clock
  log: Log
  /** A group has been verified. */
  onGroup(group: Group): void
  onEvent(event: SwarmEvent): void
  /** True while uploads are behind: groups are then accepted but not forwarded. */
  isBehind(): boolean
  /** True for authors that the user joined or that have earned trust. Default: none. */
  isKnown?(author: string): boolean
  /** True for groups that a peer trains on whose weights this node averages: they are forwarded, not verified. Default: none. */
  isTrainedElsewhere?: ((group: Pick<Group, 'author' | 'prompt'>) => boolean) | undefined
  /** A frame was admitted; it may be kept for peers that missed it. */
  onAdmitted(frame: Uint8Array, task: string): void
  /** A peer has delivered more groups without a signal, by unknown authors, than this node needs. */
  onUnneeded?: ((source: string) => void) | undefined
  /** Lets another peer deliver this message again. */
  forget(message: { data: Uint8Array }): void
  /** Stops reading from a peer for `ms`. */
  slow(peer: string, ms: number): void
  /** Runs something in the next turn of the event loop. Default: setImmediate. */
  soon?: ((run: () => void) => void) | undefined
  /** A group that is too large for gossip was announced and can be fetched. */
  onAnnounced(announcement: Announcement, source: string): void
  /** A peer says that another's step is not what its receipt says. */
  onAccusation?: ((accusation: Accusation) => void) | undefined
}

/** Groups waiting for verification: a few seconds of work, at most 16 MiB of text. */
const QUEUE = { items: 512, bytes: 16 << 20, turnMs: 3 }
/**
 * Per source: above `soft`, messages are dropped; above `hard`, the source is cut off. 16 nodes that each write a group
 * a second produce 16 messages and about 100 RPCs a second. A backlog of half a minute, after this process or the
 * network stalled, must not count as a flood. Of a flood of 10,000 messages a second, about 150 signatures are checked
 * before the source is cut off, within two seconds.
 */
const LIMITS = {
  frames: { soft: { perSecond: 300, burst: 1000 }, hard: { perSecond: 600, burst: 4000 } },
  bytes: {
    soft: { perSecond: 8 << 20, burst: 32 << 20 },
    hard: { perSecond: 32 << 20, burst: 128 << 20 },
  },
  messages: { soft: { perSecond: 80, burst: 100 }, hard: { perSecond: 200, burst: 600 } },
  /** Message ids in IHAVE, IWANT and IDONTWANT, plus grafts, prunes and subscriptions. One IHAVE may carry 5000 ids. */
  control: { soft: { perSecond: 5000, burst: 10_000 }, hard: { perSecond: 20_000, burst: 100_000 } },
}
/** Admitting and forwarding a message takes up to a millisecond. An honest message must not wait behind a flood. */
const TURNS = { perTurn: 4, limit: 256 }
/** Cost of a refused message, relative to an accepted one: most are refused before any expensive work. */
const REFUSAL_COST = 1 / 16
/** How long reading from a peer that is over its quota pauses, so that others get a turn. */
const TURN_MS = 20
/** How long a peer counts as over its quota. */
const OVER_MS = 1000
/**
 * Limits messages over quota from all sources together. Each is read, decrypted and dropped, which takes 60 µs. Above
 * the limit, reading from the source pauses, so floods take about 3 % of a core, however many sources there are.
 */
const EXCESS = { perSecond: 400, burstSeconds: 0.5, spare: 0 }

export class GossipValidator {
  private readonly parts: GossipValidatorParts
  /** A relay forwards without verifying: it does not train. */
  private readonly carry: boolean
  private readonly queue: FreshQueue<Admitted>
  private readonly turns: Turns<TopicValidatorResult>
  private readonly excess: FairShare
  private readonly meters: Record<keyof typeof LIMITS, Meter>
  private readonly overAt = new Map<string, number>()
  readonly guard: GossipGuard
  verified = 0
  /** When a group was last admitted, from gossip or a fetch. */
  lastAdmittedAt: number | undefined

  constructor({ carry = false }: { carry?: boolean }, parts: GossipValidatorParts) {
    this.parts = parts
    this.carry = carry
    this.turns = new Turns(TURNS, {
      costOf: (verdict) => (verdict === TopicValidatorResult.Accept ? 1 : REFUSAL_COST),
      soon: parts.soon,
    })
    this.queue = new FreshQueue(QUEUE, {
      soon: parts.soon,
      now: () => parts.clock.now(),
      work: (admitted) => this.verify(admitted),
      // Identities are free, so groups of unknown authors are queued under the peer that delivered them.
      ownerOf: ({ group, source }) => (parts.isKnown?.(group.author) ? group.author : source),
      dropped: ({ group }) => this.refused(group.author, 'busy', group.prompt.task),
    })
    this.excess = new FairShare(EXCESS, parts)
    this.meters = {
      frames: new Meter(LIMITS.frames, parts),
      bytes: new Meter(LIMITS.bytes, parts),
      messages: new Meter(LIMITS.messages, parts),
      control: new Meter(LIMITS.control, parts),
    }
    this.guard = {
      frame: (peer, size) => {
        parts.records.received(peer, size)
        // Such data was still in flight when the peer was cut off.
        if (parts.reputation.isCut(peer)) return false
        return this.within('frames', peer, 1) && this.within('bytes', peer, size)
      },
      rpc: (peer, { messages, control }) =>
        this.within('control', peer, control) && this.within('messages', peer, messages),
      sent: (peer, bytes) => parts.records.sent(peer, bytes),
      busy: (peer) => {
        // Peers within their quotas are never paused, since they also forward other peers' messages.
        if (parts.clock.now() - (this.overAt.get(peer) ?? 0) < OVER_MS) parts.slow(peer, TURN_MS)
      },
      malformed: (peer) => this.charge(peer, 'schema'),
      oversize: (peer) => {
        parts.records.refuse(peer, 'size')
        parts.reputation.offend(peer, 'oversize')
      },
    }
  }

  get waiting(): number {
    return this.queue.length
  }

  close(): void {
    this.turns.close()
    this.queue.close()
  }

  /** gossipsub's verdict on a message. Never throws. Under load, a message waits for its author's turn. */
  readonly validate = (
    source: string,
    message: { data: Uint8Array },
  ): TopicValidatorResult | Promise<TopicValidatorResult> =>
    this.turns.take(
      // If the claimed author is false, the signature check fails and the sending peer is penalised.
      claimedAuthor(message.data),
      () => this.judge(source, message),
      () => {
        this.parts.records.refuse(source, 'busy')
        this.parts.forget(message)
        return TopicValidatorResult.Ignore
      },
    )

  private judge(source: string, message: { data: Uint8Array }): TopicValidatorResult {
    // The peer may have been cut off while the message waited.
    if (this.parts.reputation.isCut(source)) return TopicValidatorResult.Ignore
    try {
      const before = this.parts.records.get(source)?.refused.get('quota')
      const reason = this.receive(message.data, source)
      if (reason === undefined)
        return this.parts.isBehind() ? TopicValidatorResult.Ignore : TopicValidatorResult.Accept
      // Only this source's share is used up; another peer may still deliver the message.
      if (reason === 'quota' && this.parts.records.get(source)?.refused.get('quota') !== before)
        this.parts.forget(message)
      return verdictOf(reason) === 'reject' ? TopicValidatorResult.Reject : TopicValidatorResult.Ignore
    } catch (error) {
      this.parts.log('error', 'admission failed', { error: String(error) })
      return TopicValidatorResult.Ignore
    }
  }

  /** Admits a frame from gossip or a fetch. Returns the reason if it is refused. */
  receive(frame: Uint8Array, source: string, options: { fetched?: boolean } = {}): Reason | undefined {
    const result = this.parts.admission.screen(frame, source, options)
    if ('admitted' in result) {
      this.lastAdmittedAt = this.parts.clock.now()
      const { group } = result.admitted
      this.parts.onAdmitted(frame, group.prompt.task)
      if (this.parts.isTrainedElsewhere?.(group)) this.parts.verifier.remember(group)
      else if (!this.carry) this.queue.push(result.admitted)
      return undefined
    }
    if ('announced' in result) {
      this.parts.onAnnounced(result.announced, source)
      return undefined
    }
    if ('accusation' in result) {
      this.parts.onAccusation?.(result.accusation)
      return undefined
    }
    const { refused: reason, task, author } = result
    if (verdictOf(reason) === 'reject') this.parts.reputation.offend(source, 'reject')
    else if (author !== undefined && BY_AUTHOR.has(reason)) this.parts.reputation.offend(author, 'reject')
    // These are routine in a busy swarm and would bury the events that matter.
    if (reason !== 'duplicate' && reason !== 'own' && reason !== 'quota')
      this.parts.onEvent({ type: 'refused', peer: author ?? source, reason, ...(task && { task }) })
    return reason
  }

  /** Admits a frame that this node requested. Its source is responsible only for the hash. */
  receiveFetched(frame: Uint8Array, source: string): Reason | undefined {
    return this.receive(frame, source, { fetched: true })
  }

  private *verify(admitted: Admitted): Generator<void> {
    const { verifier, records, onGroup, log } = this.parts
    const { group: shared } = admitted
    try {
      const result = yield* verifier.steps(admitted)
      const record = records.touch(shared.author)
      const rewards =
        'group' in result ? result.group.rollouts.map(({ reward }) => reward) : (result.rewards ?? [])
      for (const reward of rewards) record.rewardSum += reward
      record.rewardCount += rewards.length
      if (
        rewards.length > 0 &&
        isZeroSignal(rewards) &&
        !this.parts.admission.introduces(shared, admitted.source)
      ) {
        this.refused(admitted.source, 'unneeded', shared.prompt.task)
        this.parts.onUnneeded?.(admitted.source)
        return
      }
      if ('refused' in result) {
        this.refused(shared.author, result.refused, shared.prompt.task)
        return
      }
      record.verified++
      record.verifiedSince ??= this.parts.clock.now()
      this.verified++
      onGroup(result.group)
    } catch (error) {
      // An error in a listener must not stop the queue.
      log('error', 'a verified group could not be handed on', { error: String(error) })
    }
  }

  private refused(peer: string, reason: Reason, task: string): void {
    this.parts.records.refuse(peer, reason)
    this.parts.onEvent({ type: 'refused', peer, reason, task })
  }

  private charge(peer: string, reason: Reason): void {
    this.parts.records.refuse(peer, reason)
    this.parts.reputation.offend(peer, 'malformed')
  }

  private within(what: keyof typeof LIMITS, peer: string, cost: number): boolean {
    if (cost === 0) return true
    const level = this.meters[what].take(peer, cost)
    if (level === 'fine') return true
    this.overAt.delete(peer)
    this.overAt.set(peer, this.parts.clock.now())
    if (this.overAt.size > MAX_KNOWN_PEERS) this.overAt.delete(this.overAt.keys().next().value!)
    const wait = this.excess.owe(peer, what === 'bytes' || what === 'control' ? 1 : cost)
    if (wait > 0) this.parts.slow(peer, wait)
    // Gossip needs the control messages in the RPC, and the RPC's contents have their own quotas.
    if (level === 'over' && what === 'frames') return true
    this.parts.records.refuse(peer, 'quota')
    if (level === 'flood') this.parts.reputation.offend(peer, 'flood')
    return false
  }
}
