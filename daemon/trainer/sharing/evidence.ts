// The part of a checkpoint that holds what a node has learnt about its peers: who is set aside, each author's
// weight and plausibility, and the comparison behind the verdict. Bounded, with a closed schema.
//
// A roll-back restores the weights and keeps this evidence, because what peers sent does not depend on the
// weights. So authors stay set aside, and the cool-down after the roll-back is saved as well.

import { z } from 'zod'
import { SHARING_VERDICTS } from '../../../protocol/api/index.ts'
import type { Pairs } from './interval.ts'
import type { Plausibility } from './plausibility.ts'
import type { Trust } from './trust.ts'

/** Authors that are remembered; the least recently seen is forgotten first. */
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
  /** Remaining updates for which it is set aside. */
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
  /** Index of J's level. */
  level: z.int().min(0).max(3),
  pairs,
  /** Mean size of own progress per compute; absent before the first comparison. */
  scale: amount.exactOptional(),
  /** Remaining updates without foreign groups. */
  resting: count,
  /** Total compute. */
  total: amount,
  /** Compute spent on probing. */
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
  /** Absent if no foreign group has arrived, and in older checkpoints. */
  evidence: z
    .strictObject({
      judge,
      /** All peers together. */
      peers: trust,
      /** Least recently seen first. */
      authors: z.array(author).max(MOST_AUTHORS),
    })
    .exactOptional(),
})

export type LearnerState = z.infer<typeof learnerState>
type Evidence = NonNullable<LearnerState['evidence']>
export type JudgeEvidence = z.infer<typeof judge>
/** The authors' state, least recently seen first. */
export type AuthorsState = Pick<LearnerState, 'setAside'> & Pick<Evidence, 'peers' | 'authors'>
