// What a checkpoint keeps of what a node has found out about its peers: who is set aside, what each weighs, whether their
// log-probs are believed, and the comparison behind the verdict. Bounded and of a closed schema.
//
// A roll-back takes weights back and leaves this as it is: it is about what peers sent, which was sent and seen
// whatever became of the weights. So who was set aside stays so, and the cool-down after the roll-back is in it, too.

import { z } from 'zod'
import { SHARING_VERDICTS } from '../../../protocol/api/index.ts'
import type { Pairs } from './interval.ts'
import type { Plausibility } from './plausibility.ts'
import type { Trust } from './trust.ts'

/** Authors that are remembered; the least recent goes first. */
export const MOST_AUTHORS = 512

const count = z.int().nonnegative()
const amount = z.number().nonnegative()
const name = z.string().min(1).max(256)
const reason = z.string().max(1000)

const trust = z.strictObject({ foreign: z.number(), own: z.number() }) satisfies z.ZodType<Trust>
const pairs = z.strictObject({
  count,
  x: z.number(),
  y: z.number(),
  xx: amount,
  xy: z.number(),
  yy: amount,
}) satisfies z.ZodType<Pairs>
const plausibility = z.strictObject({
  believed: z.boolean(),
  wealth: z.number(),
  good: count,
  reason: reason.exactOptional(),
}) satisfies z.ZodType<Plausibility>

const setAside = z.strictObject({
  author: name,
  /** Updates that it still stays out. */
  updates: count,
  offences: count,
  reason,
})

const author = z.strictObject({
  author: name,
  plausibility,
  reports: z.boolean(),
  trust,
  pairs,
  norm: amount,
  allowance: amount,
  offences: count,
})

const judge = z.strictObject({
  /** Of J, as an index. */
  level: z.int().min(0).max(3),
  pairs,
  /** Mean size of own progress per compute; absent before the first comparison. */
  scale: amount.exactOptional(),
  /** Updates without foreign groups that are still to come. */
  resting: count,
  /** Compute in all, and for groups that were only looked at. */
  total: amount,
  probes: amount,
  earlier: z.strictObject({
    verdict: z.enum(SHARING_VERDICTS),
    effect: z.number().exactOptional(),
    low: z.number().exactOptional(),
    high: z.number().exactOptional(),
  }),
})

export const learnerState = z.strictObject({
  setAside: z.array(setAside).max(MOST_AUTHORS),
  /** Absent where no peer's group has come in, and in checkpoints of before it was kept. */
  evidence: z
    .strictObject({
      judge,
      /** Of all peers together. */
      peers: trust,
      /** The least recent first. */
      authors: z.array(author).max(MOST_AUTHORS),
    })
    .exactOptional(),
})

export type LearnerState = z.infer<typeof learnerState>
export type Evidence = NonNullable<LearnerState['evidence']>
export type SetAside = z.infer<typeof setAside>
export type JudgeEvidence = z.infer<typeof judge>
/** Of authors, in the order in which they were last seen. */
export type AuthorsState = Pick<LearnerState, 'setAside'> & Pick<Evidence, 'peers' | 'authors'>
