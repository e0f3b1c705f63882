// Decides whether to admit and forward a message, before any expensive work. Checks in order of cost: size, schema,
// quotas, signature, echo, rules, age. Fast enough to run while gossipsub waits for the verdict. verify.ts then
// verifies admitted groups against this node's own tasks and checks them for copies.

import { HELD_OUT_SEED, type PromptCoordinates } from '../../../protocol/train/index.ts'
import {
  type Accusation,
  type Announcement,
  contentId,
  decodeAccusation,
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
} from '../../../protocol/wire/index.ts'
import type { PeerRecord, PeerRecords } from '../peers/records.ts'
import { createAccusationQuota } from '../receipts/accusations.ts'
import type { Clock, TaskSource } from '../types.ts'
import { FairShare } from './fair-share.ts'
import { NewcomerQuota } from './newcomer-quota.ts'
import { Quota } from './quota.ts'
import type { Reason } from './reasons.ts'
import { LongMemory, SeenSet } from './seen.ts'
import { SeenContent } from './seen-content.ts'

interface AdmissionOptions {
  /** This node's peer ID. */
  self: string
  /** Names of the prompt presentations (arms) that this node can reproduce. */
  arms: readonly string[]
  /** Forward groups of tasks that this node does not have, as a relay does. Default false. */
  carry?: boolean
  /** See seen.ts. Simulations of a thousand nodes use smaller filters. */
  filterEntries?: number | undefined
}

export interface AdmissionParts {
  tasks: TaskSource
  records: PeerRecords
  seenContent?: SeenContent
  clock: Clock
  /** True for authors that the user muted or that are cut off. */
  isMuted(peer: string): boolean
  /** True for peers that the user joined. */
  isWanted?(peer: string): boolean
  /** True for authors that the user joined or that have earned trust. Default: none. */
  isKnown?(author: string): boolean
  /** Salt of the ID filters; see seen.ts. Default: random. */
  salt?: Uint8Array | undefined
  /** Whether the signature matches the key. Default: Ed25519. */
  isAuthentic?(frame: Frame): boolean
  /** Called if another node has signed with this node's key since this node started. */
  onImpostor(): void
  /** A peer has delivered more groups by unknown authors than this node needs. */
  onUnneeded?: ((source: string) => void) | undefined
  /** A message came directly from its author, whose clock is `aheadMs` ahead of this node's. */
  onDated?(author: string, aheadMs: number): void
}

export type Admitted = {
  group: SharedGroup
  /** The peer that delivered it. */
  source: string
  bytes: number
}
type Screening =
  | { admitted: Admitted }
  /** Valid and new: worth fetching from `source` or the author. */
  | { announced: Announcement }
  /** New, and signed by its author. */
  | { accusation: Accusation }
  | { refused: Reason; task?: string; author?: string }

const HOUR_MS = 3_600_000
/** Older groups are refused: several times what max_staleness allows in practice. */
const MAX_AGE_MS = HOUR_MS / 2
/** Tolerated clock skew of other nodes, so that a node whose clock is an hour off is not penalised. */
const MAX_SKEW_MS = 1.1 * HOUR_MS
/** A peer whose groups have been good for half an hour has the weight of this many newcomers. */
const MAX_TRUST = 16
const TRUST_MS = 120_000
/** The clocks of two machines may differ by this much. */
const CLOCKS_APART_MS = 60_000
/** Number of newcomers with weight 1. If all 24 flood, each still gets 8 groups a second, the limit for one author. */
const NEWCOMERS = { count: 24, idleMs: 60_000 }
/** Weight of every other unknown peer. */
const LATE = 1 / 16
/** Frames remembered exactly. Duplicates come from several peers within seconds. About 100 bytes each. */
const RECENT_FRAMES = 65_536
/** Per author. An author sends about one frame a second; a returning node fetches half an hour of them. */
const AUTHOR = { perSecond: 8, burst: 256 }
const FETCHED_AUTHOR = { perSecond: 8, burst: 1024 }
/** Charged to the peer that serves them. All newcomers together share one limit; known peers have only the total. */
const FETCHED_NEWCOMER = { perSecond: 4, burst: 512 }
const FETCHED_NEWCOMERS = { perSecond: 16, burst: 1024 }
const FETCHED = { perSecond: 100, burst: 4096 }
/**
 * Groups without a signal, by unknown authors, that a peer may deliver: an honest newcomer sends 24, and more while it
 * meets others. A peer with a weight of 16 passes on those of many, and may deliver 16 times as many.
 */
const INTRODUCTIONS = { perSecond: 1, burst: 128 }

export class Admission {
  /** Frames whose signature was checked. */
  private readonly frames = new SeenSet({ capacity: RECENT_FRAMES })
  /** Admitted and own frames, remembered until their age alone would have them refused. */
  private readonly letIn: LongMemory
  /** Content that this process has sent. */
  private readonly sentContents = new SeenSet({ capacity: RECENT_FRAMES })
  private readonly seenContent: SeenContent
  private readonly options: Required<AdmissionOptions>
  private readonly parts: AdmissionParts
  private readonly startedAt: number
  /** Groups per author, whichever peer forwards them. */
  private readonly authors: Quota
  private readonly fetchedAuthors: Quota
  /**
   * Limits how many frames have their signature checked, and are then verified and forwarded: about a millisecond each,
   * so at most 20 % of a core. 64 nodes that each write a group a second need 64. Shared by source, since identities
   * are free.
   */
  private readonly shares: FairShare
  private readonly newcomers: NewcomerQuota
  private readonly introductions: Quota
  private readonly accusations: ReturnType<typeof createAccusationQuota>
  private readonly fetched: Record<'newcomer' | 'newcomers' | 'all', Quota>

  constructor(options: AdmissionOptions, parts: AdmissionParts) {
    this.options = {
      ...{ carry: false, filterEntries: undefined, ...options },
    }
    this.parts = parts
    this.seenContent = parts.seenContent ?? new SeenContent({}, parts)
    this.startedAt = parts.clock.now()
    const { filterEntries } = this.options
    this.letIn = new LongMemory({ forMs: MAX_AGE_MS + 2 * MAX_SKEW_MS, entries: filterEntries }, parts)
    this.authors = new Quota({ rate: AUTHOR }, parts)
    this.fetchedAuthors = new Quota({ rate: FETCHED_AUTHOR }, parts)
    this.shares = new FairShare({ perSecond: 200, burstSeconds: 2, spare: 768 }, parts)
    this.newcomers = new NewcomerQuota(NEWCOMERS, parts)
    this.introductions = new Quota({ rate: INTRODUCTIONS }, parts)
    this.accusations = createAccusationQuota({}, parts)
    this.fetched = {
      newcomer: new Quota({ rate: FETCHED_NEWCOMER }, parts),
      newcomers: new Quota({ rate: FETCHED_NEWCOMERS, keys: 1 }, parts),
      all: new Quota({ rate: FETCHED, keys: 1 }, parts),
    }
  }

  /** After a restart: the previous process may have admitted groups until `at`. */
  resume(at: number): void {
    for (const quota of [
      this.authors,
      this.fetchedAuthors,
      this.introductions,
      ...Object.values(this.fetched),
    ])
      quota.resume(at)
  }

  /** Never throws. `source` is the peer that delivered the message; its own quotas have already been applied. */
  screen(bytes: Uint8Array, source: string, { fetched = false } = {}): Screening {
    const { records } = this.parts
    const from = records.touch(source)
    from.framesIn++
    let frame: Frame
    let said: SharedGroup | Announcement
    let mark: string
    try {
      frame = openFrame(bytes, fetched ? MAX_FETCHED_BYTES : MAX_GOSSIP_BYTES)
      // Replays are refused before decoding, which takes microseconds.
      mark = markOf(frame)
      if (this.frames.has(mark) || this.letIn.has(mark)) return this.refuse('duplicate', source)
      if (frame.kind === KIND.accusation && !fetched) return this.screenAccusation(frame, mark, source)
      if (frame.kind === KIND.group) said = decodeGroup(frame)
      else if (frame.kind === KIND.announcement) said = decodeAnnouncement(frame)
      else return this.refuse('kind', source)
    } catch (error) {
      return this.refuse(error instanceof WireFault ? error.reason : 'schema', source)
    }
    const weight = this.trust(from)
    // Before the signature: whoever delivered too much that nobody needs has no more of the kind looked at.
    if (!this.isKnown(said.author) && !this.introductions.has(source, 1 / Math.max(1, weight))) {
      this.parts.onUnneeded?.(source)
      return this.refuse('quota', source)
    }
    const fits = fetched ? this.fitsFetched(source, weight) : this.shares.take(source, weight)
    // Soon after a crash, what this node asked known peers for is more than it may take. Nobody is to blame for that.
    if (!fits) return fetched && weight > 1 ? { refused: 'quota' } : this.refuse('quota', source)
    if (!(this.parts.isAuthentic ?? isAuthentic)(frame)) return this.refuse('signature', source)
    this.frames.add(mark)
    if (said.author === this.options.self) {
      if (this.isImpostor(said)) this.parts.onImpostor()
      return this.refuse('own', source)
    }
    const wrong = this.judge(said, source, fetched)
    if (wrong) return wrong
    this.letIn.add(mark)
    if (!('rollouts' in said)) return { announced: said }
    const { author, policy } = said
    const record = records.touch(author)
    record.published++
    record.policyVersion = policy.version
    record.tokenizer = policy.tokenizer
    return { admitted: { group: said, source, bytes: bytes.length } }
  }

  /** Throws WireFault. */
  private screenAccusation(frame: Frame, mark: string, source: string): Screening {
    const accusation = decodeAccusation(frame)
    const { author } = accusation
    if (!this.accusations.delivered(source)) return this.refuse('quota', source)
    if (!(this.parts.isAuthentic ?? isAuthentic)(frame)) return this.refuse('signature', source)
    this.frames.add(mark)
    if (author === this.options.self) return this.refuse('own', source)
    if (this.parts.isMuted(author)) return this.refuse('muted', author)
    if (!this.accusations.made(accusation)) return this.refuse('quota', author)
    const wrong = this.wrongAge(accusation)
    if (wrong) return this.refuse(wrong, author)
    this.letIn.add(mark)
    return { accusation }
  }

  /**
   * Call with each verified group without a signal, by an author that is not known. Charged to the peer that delivered
   * it, since authors cost nothing. False if it has delivered more than is needed.
   */
  introduces({ author }: SharedGroup, source: string): boolean {
    if (this.isKnown(author)) return true
    return this.introductions.take(source, 1 / Math.max(1, this.trust(this.parts.records.touch(source))))
  }

  private isKnown(author: string): boolean {
    return this.parts.isKnown?.(author) ?? false
  }

  /** Remembers a frame of this node, so that neither its echo nor a copy of its content counts as new. */
  sent(bytes: Uint8Array, id?: string): void {
    const mark = markOf(openFrame(bytes, MAX_FETCHED_BYTES))
    this.frames.add(mark)
    this.letIn.add(mark)
    if (id === undefined) return
    this.seenContent.wrote.add(id)
    this.sentContents.add(id)
  }

  /**
   * Whether another node signed this with this node's key. Messages from before the start do not count. This node knows
   * the frames that it has sent itself, so a new frame with content that it sent comes from a copy of this home that is
   * behind and writes the same again.
   */
  private isImpostor(said: SharedGroup | Announcement): boolean {
    const age = this.parts.clock.now() - said.createdAt
    if (said.createdAt < this.startedAt || age > MAX_AGE_MS) return false
    // An earlier run may have written a future date, before the clock was corrected.
    if (!('rollouts' in said)) return age >= 0
    const texts = said.rollouts.map(({ text }) => text)
    const id = contentId(said.prompt, texts)
    return this.sentContents.has(id) || (age >= -CLOCKS_APART_MS && !this.seenContent.isOwn(id))
  }

  private fitsFetched(source: string, weight: number): boolean {
    const { newcomer, newcomers, all } = this.fetched
    if (weight <= 1 && !(newcomer.take(source) && newcomers.take('all'))) return false
    return all.take('all')
  }

  /** The peer's weight: grows to 16 with its number of good groups and the time since the first; else at most 1. */
  private trust({ id, verified, verifiedSince = Number.POSITIVE_INFINITY }: PeerRecord): number {
    // The user chose this peer, so it is not one of a crowd of fake identities.
    if (this.parts.isWanted?.(id)) return MAX_TRUST
    const known = this.parts.clock.now() - verifiedSince
    const earned = Math.min(MAX_TRUST, known / TRUST_MS, verified / 4)
    if (earned < 1) return this.newcomers.take(id) ? 1 : Math.max(LATE, earned)
    this.newcomers.leave(id)
    return earned
  }

  /** Checks after the signature, charged to the author. Undefined if the message passes all. */
  private judge(said: SharedGroup | Announcement, source: string, fetched: boolean): Screening | undefined {
    const { clock, tasks, isMuted } = this.parts
    const { prompt, author } = said
    const refuse = (reason: Reason, peer = author) => this.refuse(reason, peer, prompt.task, author)
    if (isMuted(author)) return refuse('muted')
    if (fetched && !this.fetchedAuthors.take(author)) return { refused: 'quota', task: prompt.task, author }
    if (!fetched && !this.authors.take(author)) return refuse('quota')
    const wrong = brokenRule(prompt, tasks)
    // Every honest node can see that a seed is held out, so the forwarding peer is penalised. Only nodes with the task
    // know its range of difficulties.
    if (wrong === 'heldOut') return refuse(wrong, source)
    if (wrong === 'difficulty' || (wrong && !this.options.carry)) return refuse(wrong)
    if ('arm' in said && !this.options.carry && !this.options.arms.includes(said.arm)) return refuse('arm')
    const age = clock.now() - said.createdAt
    // A forwarded message may have been delayed, so it tells nothing about the author's clock.
    if (source === author && !fetched) this.parts.onDated?.(author, -age)
    const old = this.wrongAge(said)
    return old && refuse(old)
  }

  private wrongAge({ createdAt }: { createdAt: number }): 'stale' | 'future' | undefined {
    const age = this.parts.clock.now() - createdAt
    return age > MAX_AGE_MS + MAX_SKEW_MS ? 'stale' : age < -MAX_SKEW_MS ? 'future' : undefined
  }

  private refuse(reason: Reason, peer: string, task?: string, author?: string): Screening {
    this.parts.records.refuse(peer, reason)
    return { refused: reason, ...(task && { task }), ...(author && { author }) }
  }
}

/** The first half of the signature identifies the frame. */
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
