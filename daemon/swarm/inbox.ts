// From a peer's bytes to verified groups: quotas before decoding, the door, the queue of what is let in, verification, and
// the charges for what was not. The only place where gossip, admission and standing meet.

import { type Message, TopicValidatorResult } from '@libp2p/gossipsub'
import { type Announcement, claimedAuthor } from '../../protocol/wire/index.ts'
import type { Admission, Admitted } from './admission.ts'
import type { Verifier } from './admission-verify.ts'
import { FairShare } from './fair-share.ts'
import type { GossipGuard } from './gossip-internals.ts'
import { type Ledger, MAX_KNOWN_PEERS } from './ledger.ts'
import { FreshQueue } from './queue.ts'
import { Meter } from './quota.ts'
import { type Reason, verdictOf } from './reasons.ts'
import type { Standing } from './standing.ts'
import { Turns } from './turns.ts'
import type { Clock, Log, SwarmEvent } from './types.ts'

export interface InboxCollaborators {
  admission: Admission
  verifier: Verifier
  ledger: Ledger
  standing: Standing
  clock: Clock
  log: Log
  onEvent(event: SwarmEvent): void
  /** A frame has been let in; it may be kept for others. */
  onAdmitted(frame: Uint8Array, task: string): void
  /** Another peer may bring this message again. */
  forget(message: Message): void
  /** Stops reading from a peer for so many ms. */
  slow(peer: string, ms: number): void
  /** A group that is too large for gossip can be fetched. */
  onAnnounced(announcement: Announcement, source: string): void
}

/** Waiting to be verified: some seconds' work, and 16 MiB of text at most. */
const QUEUE = { items: 512, bytes: 16 << 20, turnMs: 3 }
/**
 * By source: what is dealt with, and beyond which the source is cut off. 16 nodes with a group a second each make 16 messages
 * and some 100 RPCs; what piles up while this process, or the line, stands still for half a minute must not look like a
 * flood. A flood of 10 000 messages a second has some 150 signatures checked and ends within two seconds (G09: 256, and 2 s).
 */
const LIMITS = {
  frames: { soft: { perSecond: 300, burst: 1000 }, hard: { perSecond: 600, burst: 4000 } },
  bytes: {
    soft: { perSecond: 8 << 20, burst: 32 << 20 },
    hard: { perSecond: 32 << 20, burst: 128 << 20 },
  },
  messages: { soft: { perSecond: 80, burst: 100 }, hard: { perSecond: 200, burst: 600 } },
  /** Ids in IHAVE, IWANT and IDONTWANT, grafts, prunes and subscriptions. One IHAVE may carry 5000. */
  control: { soft: { perSecond: 5000, burst: 10_000 }, hard: { perSecond: 20_000, burst: 100_000 } },
}
/** Admitting a message and passing it on takes up to a millisecond: an honest one should not wait for many of a flood. */
const TURNS = { perTurn: 4, limit: 256 }
/** Most are refused before anything is done for them. */
const REFUSAL_COST = 1 / 16
/** Nothing more is read from a peer for so long when others are to have a turn: what came already is dealt with meanwhile. */
const TURN_MS = 20
/** After it was over a quota. */
const OVER_MS = 1000
/**
 * What all sources together may send beyond that: read, decrypted and dropped, at 60 µs each. Who sends more is read from
 * later, so that floods take some 3 % of a core, from however many sources.
 */
const EXCESS = { perSecond: 400, burstSeconds: 0.5, spare: 0 }

export class Inbox {
  private readonly by: InboxCollaborators
  /** A relay passes on and does not verify: it has nothing to train. */
  private readonly carry: boolean
  private readonly queue: FreshQueue<Admitted>
  private readonly turns = new Turns<TopicValidatorResult>(TURNS, {
    costOf: (verdict) => (verdict === TopicValidatorResult.Accept ? 1 : REFUSAL_COST),
  })
  private readonly excess: FairShare
  private readonly meters: Record<keyof typeof LIMITS, Meter>
  private readonly overAt = new Map<string, number>()
  readonly guard: GossipGuard
  verified = 0
  /** When a group last came in, by whatever way. */
  lastAdmittedAt: number | undefined

  constructor({ carry = false }: { carry?: boolean }, by: InboxCollaborators) {
    this.by = by
    this.carry = carry
    this.queue = new FreshQueue(QUEUE, {
      now: () => by.clock.now(),
      work: (admitted) => this.verify(admitted),
      ownerOf: ({ group }) => group.author,
      dropped: ({ group }) => this.refused(group.author, 'busy', group.prompt.task),
    })
    this.excess = new FairShare(EXCESS, by)
    this.meters = {
      frames: new Meter(LIMITS.frames, by),
      bytes: new Meter(LIMITS.bytes, by),
      messages: new Meter(LIMITS.messages, by),
      control: new Meter(LIMITS.control, by),
    }
    this.guard = {
      frame: (peer, size) => {
        by.ledger.received(peer, size)
        // What was under way when it was cut off.
        if (by.standing.isCut(peer)) return false
        return this.within('frames', peer, 1) && this.within('bytes', peer, size)
      },
      rpc: (peer, { messages, control }) =>
        this.within('control', peer, control) && this.within('messages', peer, messages),
      sent: (peer, bytes) => by.ledger.sent(peer, bytes),
      busy: (peer) => {
        // Who keeps to its quotas has others' messages to pass on, and its own among them.
        if (by.clock.now() - (this.overAt.get(peer) ?? 0) < OVER_MS) by.slow(peer, TURN_MS)
      },
      malformed: (peer) => this.charge(peer, 'schema'),
      oversize: (peer) => {
        by.ledger.refuse(peer, 'size')
        by.standing.offend(peer, 'oversize')
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

  /** gossipsub's verdict on a message. Never throws; waits for messages of other authors, if there are many. */
  readonly validate = (
    source: string,
    message: Message,
  ): TopicValidatorResult | Promise<TopicValidatorResult> =>
    this.turns.take(
      // Who says to be another has a bad signature, and is charged for it.
      claimedAuthor(message.data),
      () => this.judge(source, message),
      () => {
        this.by.ledger.refuse(source, 'busy')
        this.by.forget(message)
        return TopicValidatorResult.Ignore
      },
    )

  private judge(source: string, message: Message): TopicValidatorResult {
    // Meanwhile, perhaps.
    if (this.by.standing.isCut(source)) return TopicValidatorResult.Ignore
    try {
      const before = this.by.ledger.get(source)?.refused.get('quota')
      const reason = this.receive(message.data, source)
      if (reason === undefined) return TopicValidatorResult.Accept
      // Its source had no part left; another’s may have.
      if (reason === 'quota' && this.by.ledger.get(source)?.refused.get('quota') !== before)
        this.by.forget(message)
      return verdictOf(reason) === 'reject' ? TopicValidatorResult.Reject : TopicValidatorResult.Ignore
    } catch (error) {
      this.by.log('error', 'admission failed', { error: String(error) })
      return TopicValidatorResult.Ignore
    }
  }

  /** Takes a frame in, however it came; returns why it was refused, if it was. */
  receive(frame: Uint8Array, source: string, options: { fetched?: boolean } = {}): Reason | undefined {
    const result = this.by.admission.screen(frame, source, options)
    if ('admitted' in result) {
      this.lastAdmittedAt = this.by.clock.now()
      this.by.onAdmitted(frame, result.admitted.group.prompt.task)
      if (!this.carry) this.queue.push(result.admitted)
      return undefined
    }
    if ('announced' in result) {
      this.by.onAnnounced(result.announced, source)
      return undefined
    }
    const { refused: reason, task, author } = result
    if (verdictOf(reason) === 'reject') this.by.standing.offend(source, 'reject')
    // What every message of a busy swarm does now and then would drown the events that matter.
    if (reason !== 'duplicate' && reason !== 'own' && reason !== 'quota')
      this.by.onEvent({ type: 'refused', peer: author ?? source, reason, ...(task && { task }) })
    return reason
  }

  /** A frame that was asked for, whose source answers only for its hash. */
  receiveFetched(frame: Uint8Array, source: string): Reason | undefined {
    return this.receive(frame, source, { fetched: true })
  }

  private verify(admitted: Admitted): void {
    const { verifier, ledger, onEvent, log } = this.by
    const { group: shared } = admitted
    try {
      const result = verifier.verify(admitted)
      const record = ledger.touch(shared.author)
      const rewards =
        'group' in result ? result.group.rollouts.map(({ reward }) => reward) : (result.rewards ?? [])
      for (const reward of rewards) record.rewardSum += reward
      record.rewardCount += rewards.length
      if ('refused' in result) {
        this.refused(shared.author, result.refused, shared.prompt.task)
        return
      }
      record.verified++
      record.verifiedSince ??= this.by.clock.now()
      this.verified++
      onEvent({ type: 'group', group: result.group })
    } catch (error) {
      // Whatever a listener does must not stop the queue.
      log('error', 'a verified group could not be handed on', { error: String(error) })
    }
  }

  private refused(peer: string, reason: Reason, task: string): void {
    this.by.ledger.refuse(peer, reason)
    this.by.onEvent({ type: 'refused', peer, reason, task })
  }

  private charge(peer: string, reason: Reason): void {
    this.by.ledger.refuse(peer, reason)
    this.by.standing.offend(peer, 'malformed')
  }

  private within(what: keyof typeof LIMITS, peer: string, cost: number): boolean {
    if (cost === 0) return true
    const level = this.meters[what].take(peer, cost)
    if (level === 'fine') return true
    this.overAt.delete(peer)
    this.overAt.set(peer, this.by.clock.now())
    if (this.overAt.size > MAX_KNOWN_PEERS) this.overAt.delete(this.overAt.keys().next().value!)
    const wait = this.excess.owe(peer, what === 'bytes' || what === 'control' ? 1 : cost)
    if (wait > 0) this.by.slow(peer, wait)
    // An RPC may hold what gossip needs, and is not yet anything that a quota is for.
    if (level === 'over' && what === 'frames') return true
    this.by.ledger.refuse(peer, 'quota')
    if (level === 'flood') this.by.standing.offend(peer, 'flood')
    return false
  }
}
