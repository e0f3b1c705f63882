// The door: decides about a message that came in before anything expensive is done for it, and whether it is passed on.
// In order of cost: quotas, size, schema, signature, rules, echo, age, sequence, copy. Cheap enough to run while gossip
// waits for the verdict. What it lets in is checked against this node's own tasks by admission-verify.ts.

import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import {
  authorOf,
  contentId,
  decodeGroup,
  type Frame,
  isAuthentic,
  KIND,
  MAX_GOSSIP_BYTES,
  openFrame,
  type SharedGroup,
  WireFault,
} from '../../protocol/wire/index.ts'
import type { Ledger } from './ledger.ts'
import { Quota } from './quota.ts'
import type { Reason } from './reasons.ts'
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
}

export interface AdmissionCollaborators {
  tasks: TaskSource
  ledger: Ledger
  clock: Clock
  /** True for authors that a person or the score has muted. */
  isMuted(peer: string): boolean
}

/** `id` is the content id. */
export type Admitted = { group: SharedGroup; id: string; bytes: number }
export type Screening = { admitted: Admitted } | { refused: Reason; task?: string; author?: string }

const HOUR_MS = 3_600_000
/** Ids of content that is not let in again: two hours at 9 groups a second. About 100 bytes each. */
const SEEN_CAPACITY = 65_536

export class Admission {
  readonly seen = new SeenSet({ capacity: SEEN_CAPACITY })
  /** Frames whose signature has been checked. */
  private readonly frames = new SeenSet({ capacity: SEEN_CAPACITY })
  private readonly options: Required<AdmissionOptions>
  private readonly by: AdmissionCollaborators
  /** One author's groups, whoever passes them on: a node writes about one a second. */
  private readonly authorQuota: Quota
  /**
   * All signature checks together, at 0.11 ms each, since identities are free. Two buckets of 4 % of a core: peers whose
   * own groups have proved good do not share one with a crowd of newcomers.
   */
  private readonly totalQuota: Quota

  constructor(options: AdmissionOptions, collaborators: AdmissionCollaborators) {
    this.options = { maxAgeMs: HOUR_MS / 2, maxSkewMs: 1.1 * HOUR_MS, ...options }
    this.by = collaborators
    this.authorQuota = new Quota({ rate: { perSecond: 8, burst: 128 } }, collaborators)
    this.totalQuota = new Quota({ rate: { perSecond: 400, burst: 800 }, keys: 2 }, collaborators)
  }

  /** Never throws. `source` is the peer that passed the message on; quotas by source are taken before this. */
  screen(bytes: Uint8Array, source: string, { limit = MAX_GOSSIP_BYTES } = {}): Screening {
    const { ledger } = this.by
    const from = ledger.touch(source)
    from.framesIn++
    from.bytesIn += bytes.length
    let frame: Frame
    let group: SharedGroup
    let mark: string
    try {
      frame = openFrame(bytes, limit)
      // A replay costs microseconds: half a signature tells whether this very frame was here before.
      mark = Buffer.from(frame.signature.subarray(0, 32)).toString('latin1')
      if (this.frames.has(mark)) return this.refuse('duplicate', source)
      if (frame.kind !== KIND.group) return this.refuse('kind', source)
      group = decodeGroup(frame)
    } catch (error) {
      return this.refuse(error instanceof WireFault ? error.reason : 'schema', source)
    }
    // An echo needs no check of its signature: whether or not it is ours, we do not want it.
    if (authorOf(frame) === this.options.self) return this.refuse('own', source)
    if (!this.totalQuota.take(from.verified > 0 ? 'proven' : 'new')) return this.refuse('quota', source)
    if (!isAuthentic(frame)) return this.refuse('signature', source)
    this.frames.add(mark)
    return this.judge(group, bytes.length, source)
  }

  /** From here on the author has said it, and is the one to whom it is counted. */
  private judge(group: SharedGroup, bytes: number, source: string): Screening {
    const { ledger, clock, tasks, isMuted } = this.by
    const { prompt, author } = group
    const refuse = (reason: Reason, peer = author) => this.refuse(reason, peer, prompt.task, author)
    if (isMuted(author)) return refuse('muted')
    if (!this.authorQuota.take(author)) return refuse('quota')
    const wrong = brokenRule(group, tasks, this.options.arms)
    // Whoever passes on what breaks a rule for all is charged as well, since it has not looked.
    if (wrong) return refuse(wrong, wrong === 'heldOut' || wrong === 'difficulty' ? source : author)
    const age = clock.now() - group.createdAt
    if (age > this.options.maxAgeMs + this.options.maxSkewMs) return refuse('stale')
    if (age < -this.options.maxSkewMs) return refuse('future')
    const record = ledger.touch(author)
    const order = record.sequences.take(group.sequence)
    if (order !== 'new') return refuse(order === 'seen' ? 'duplicate' : 'stale')
    const id = contentId(
      prompt,
      group.rollouts.map((rollout) => rollout.text),
    )
    if (this.seen.has(id)) return refuse('duplicate')
    this.seen.add(id)
    record.published++
    record.policyVersion = group.policy.version
    record.tokenizer = group.policy.tokenizer
    return { admitted: { group, id, bytes } }
  }

  private refuse(reason: Reason, peer: string, task?: string, author?: string): Screening {
    this.by.ledger.refuse(peer, reason)
    return { refused: reason, ...(task && { task }), ...(author && { author }) }
  }
}

function brokenRule(
  { prompt, arm }: SharedGroup,
  tasks: TaskSource,
  arms: readonly string[],
): Reason | undefined {
  if (prompt.seed >= HELD_OUT_SEED) return 'heldOut'
  const task = tasks.find(prompt.task, prompt.taskVersion)
  if (!task) return 'task'
  if (prompt.difficulty < task.difficulty.min || prompt.difficulty > task.difficulty.max) return 'difficulty'
  return arms.includes(arm) ? undefined : 'arm'
}
