// The door: decides about a message that came in before anything expensive is done for it, and whether it is passed on.
// In order of cost: quotas, size, schema, signature, rules, echo, age, sequence, copy. Cheap enough to run while gossip
// waits for the verdict. What it lets in is checked against this node's own tasks by admission-verify.ts.

import { HELD_OUT_SEED, type PromptCoordinates } from '../../protocol/train/index.ts'
import {
  type Announcement,
  contentId,
  decodeAnnouncement,
  decodeGroup,
  type Frame,
  isAuthentic,
  KIND,
  MAX_FETCHED_BYTES,
  MAX_GOSSIP_BYTES,
  openFrame,
  type SharedGroup,
  WireFault,
} from '../../protocol/wire/index.ts'
import { FairShare } from './fair-share.ts'
import type { Ledger, PeerRecord } from './ledger.ts'
import { Quota } from './quota.ts'
import type { Reason } from './reasons.ts'
import { Seats } from './seats.ts'
import { SeenSet } from './seen.ts'
import type { Clock, TaskSource } from './types.ts'

export interface AdmissionOptions {
  /** This node's peer ID. */
  self: string
  /** Ways of presenting a prompt that this node can repeat. */
  arms: readonly string[]
  /** Groups older than this are of no use: 30 minutes, several times what max_staleness lets live in practice. */
  maxAgeMs?: number
  /** How far ahead another's clock may be. G20 asks that a node whose clock is an hour off is not harmed. */
  maxSkewMs?: number
  /** A relay passes on groups of tasks that it does not have. Default false. */
  carry?: boolean
}

export interface AdmissionCollaborators {
  tasks: TaskSource
  ledger: Ledger
  clock: Clock
  /** True for authors that a person or the score has muted. */
  isMuted(peer: string): boolean
  /** True for peers that a person of this node joined. */
  isWanted?(peer: string): boolean
  /** Somebody else signs with this node's key, and did since this node started. */
  onImpostor(): void
}

/** `id` is the content id. */
export type Admitted = { group: SharedGroup; id: string; bytes: number }
export type Screening =
  | { admitted: Admitted }
  /** Well-formed, new, and worth fetching; from `source` or its author. */
  | { announced: Announcement }
  | { refused: Reason; task?: string; author?: string }

const HOUR_MS = 3_600_000
/** A peer whose groups have been good for half an hour counts as much as so many newcomers. */
const MAX_TRUST = 16
const TRUST_MS = 120_000
/** Strangers who count as one each; 24 that send without end leave one of them 8 groups a second, as many as an author may send. */
const SEATS = { count: 24, idleMs: 60_000 }
/** What any other stranger counts, until it is known. */
const LATE = 1 / 16
/** Ids of content that is not let in again: two hours at 9 groups a second. About 100 bytes each. */
const SEEN_CAPACITY = 65_536

export class Admission {
  readonly seen = new SeenSet({ capacity: SEEN_CAPACITY })
  /** Frames whose signature has been checked. */
  private readonly frames = new SeenSet({ capacity: SEEN_CAPACITY })
  private readonly options: Required<AdmissionOptions>
  private readonly by: AdmissionCollaborators
  private readonly startedAt: number
  /** One author's groups, whoever passes them on: a node writes about one a second. */
  private readonly authorQuota: Quota
  /**
   * All that is let in to have its signature checked, be verified and passed on, at about a millisecond each: 20 % of a core
   * at most. A swarm of 64 nodes with a group a second each uses 64. Shared out among sources, since identities are free.
   */
  private readonly shares: FairShare
  private readonly seats: Seats
  /** What we asked for ourselves comes minutes' worth at once, paced by the fetcher. */
  private readonly fetchedQuota: Quota

  constructor(options: AdmissionOptions, collaborators: AdmissionCollaborators) {
    this.options = { maxAgeMs: HOUR_MS / 2, maxSkewMs: 1.1 * HOUR_MS, carry: false, ...options }
    this.by = collaborators
    this.startedAt = collaborators.clock.now()
    this.authorQuota = new Quota({ rate: { perSecond: 8, burst: 256 } }, collaborators)
    this.shares = new FairShare({ perSecond: 200, burstSeconds: 2, spare: 768 }, collaborators)
    this.seats = new Seats(SEATS, collaborators)
    this.fetchedQuota = new Quota({ rate: { perSecond: 100, burst: 4096 }, keys: 1 }, collaborators)
  }

  /** Never throws. `source` is the peer that passed the message on; quotas by source are taken before this. */
  screen(bytes: Uint8Array, source: string, { fetched = false } = {}): Screening {
    const { ledger } = this.by
    const from = ledger.touch(source)
    from.framesIn++
    let frame: Frame
    let said: SharedGroup | Announcement
    let mark: string
    try {
      frame = openFrame(bytes, fetched ? MAX_FETCHED_BYTES : MAX_GOSSIP_BYTES)
      // A replay costs microseconds.
      mark = markOf(frame)
      if (this.frames.has(mark)) return this.refuse('duplicate', source)
      if (frame.kind === KIND.group) said = decodeGroup(frame)
      else if (frame.kind === KIND.announcement) said = decodeAnnouncement(frame)
      else return this.refuse('kind', source)
    } catch (error) {
      return this.refuse(error instanceof WireFault ? error.reason : 'schema', source)
    }
    const fits = fetched ? this.fetchedQuota.take('all') : this.shares.take(source, this.trust(from))
    if (!fits) return this.refuse('quota', source)
    if (!isAuthentic(frame)) return this.refuse('signature', source)
    this.frames.add(mark)
    if (said.author === this.options.self) {
      // What we sent is marked as seen, so this is from before the last start, or from a copy of this node's home.
      if (said.createdAt >= this.startedAt) this.by.onImpostor()
      return this.refuse('own', source)
    }
    const wrong = this.judge(said, source, fetched)
    if (wrong) return wrong
    if (!('rollouts' in said)) return { announced: said }
    return this.admit(said, bytes.length)
  }

  /** A frame of our own goes out: its echo, and copies of what it says, are not new. */
  sent(bytes: Uint8Array, id?: string): void {
    this.frames.add(markOf(openFrame(bytes, MAX_FETCHED_BYTES)))
    if (id !== undefined) this.seen.add(id)
  }

  /** Weight of its part: up to 16 with the time since its first good group, and with their number; a stranger’s is 1 or less. */
  private trust({ id, verified, verifiedSince = Number.POSITIVE_INFINITY }: PeerRecord): number {
    // Who was chosen here cannot be one of a crowd that came by itself.
    if (this.by.isWanted?.(id)) return MAX_TRUST
    const known = this.by.clock.now() - verifiedSince
    const earned = Math.min(MAX_TRUST, known / TRUST_MS, verified / 4)
    if (earned < 1) return this.seats.take(id) ? 1 : Math.max(LATE, earned)
    this.seats.leave(id)
    return earned
  }

  /** From here on the author has said it, and is the one to whom it is counted. Undefined: nothing is wrong with it. */
  private judge(said: SharedGroup | Announcement, source: string, fetched: boolean): Screening | undefined {
    const { ledger, clock, tasks, isMuted } = this.by
    const { prompt, author } = said
    const refuse = (reason: Reason, peer = author) => this.refuse(reason, peer, prompt.task, author)
    if (isMuted(author)) return refuse('muted')
    if (!fetched && !this.authorQuota.take(author)) return refuse('quota')
    const wrong = brokenRule(prompt, tasks)
    // Whoever passes on what breaks a rule for all is charged as well, since it has not looked.
    if (wrong && wrong !== 'task') return refuse(wrong, source)
    if (wrong && !this.options.carry) return refuse(wrong)
    if ('arm' in said && !this.options.carry && !this.options.arms.includes(said.arm)) return refuse('arm')
    const age = clock.now() - said.createdAt
    if (age > this.options.maxAgeMs + this.options.maxSkewMs) return refuse('stale')
    if (age < -this.options.maxSkewMs) return refuse('future')
    const order = ledger.touch(author).sequences.take(said.sequence)
    if (order !== 'new') return refuse(order === 'seen' ? 'duplicate' : 'stale')
    return undefined
  }

  private admit(group: SharedGroup, bytes: number): Screening {
    const { prompt, author, policy, rollouts } = group
    const id = contentId(
      prompt,
      rollouts.map((rollout) => rollout.text),
    )
    if (this.seen.has(id)) return this.refuse('duplicate', author, prompt.task, author)
    this.seen.add(id)
    const record = this.by.ledger.touch(author)
    record.published++
    record.policyVersion = policy.version
    record.tokenizer = policy.tokenizer
    return { admitted: { group, id, bytes } }
  }

  private refuse(reason: Reason, peer: string, task?: string, author?: string): Screening {
    this.by.ledger.refuse(peer, reason)
    return { refused: reason, ...(task && { task }), ...(author && { author }) }
  }
}

/** Half a signature: enough to know a frame by. */
function markOf({ signature }: Frame): string {
  return Buffer.from(signature.subarray(0, 32)).toString('latin1')
}

function brokenRule(
  prompt: PromptCoordinates,
  tasks: TaskSource,
): 'heldOut' | 'task' | 'difficulty' | undefined {
  if (prompt.seed >= HELD_OUT_SEED) return 'heldOut'
  const task = tasks.find(prompt.task, prompt.taskVersion)
  if (!task) return 'task'
  const { min, max } = task.difficulty
  return prompt.difficulty < min || prompt.difficulty > max ? 'difficulty' : undefined
}
