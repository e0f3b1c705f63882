// The part of a checkpoint with what a node has learnt about its peers: who is set aside, whose tokens are like its
// own, whose groups help, and the comparison behind the verdict. Its size is bounded and its schema closed.
//
// A roll-back restores the weights but keeps this evidence, because what peers sent does not depend on the weights. So
// authors stay set aside, and the cool-down after the roll-back is saved as well.

import { z } from 'zod'
import { SHARING_VERDICTS } from '../../../protocol/api/index.ts'
import type { Pairs } from './interval.ts'
import type { Typicality } from './typicality.ts'

/** Maximum number of authors; the least recently seen one is forgotten first. */
export const MAX_AUTHORS = 512

const count = z.int().nonnegative()
const amount = z.number().nonnegative()
const name = z.string().min(1).max(256)
const reason = z.string().max(1000)

const pairs = z.strictObject({
  count,
  x: z.number(),
  y: z.number(),
  xx: amount,
  xy: z.number(),
  yy: amount,
}) satisfies z.ZodType<Pairs>
/** Names of the last version, which states may still have. */
const FORMER_LIKENESS = { twin: 'matched', guide: 'mismatched' } as const
export const typicality = z.strictObject({
  bets: z.array(z.number()).max(64),
  claims: z.number(),
  likeness: z
    .enum(['matched', 'mismatched', 'unknown', 'twin', 'guide'])
    .transform((name) => (name === 'twin' || name === 'guide' ? FORMER_LIKENESS[name] : name)),
}) satisfies z.ZodType<Typicality>

const setAside = z.strictObject({
  author: name,
  /** Number of updates for which the author remains set aside. */
  updates: count,
  offences: count,
  reason,
})

const author = z.strictObject({
  author: name,
  typicality,
  pairs,
  norm: amount,
  offences: count,
})

const judge = z.strictObject({
  /** 0 while foreign groups are only probed. Older checkpoints have levels up to 3. */
  level: z.int().min(0).max(3),
  pairs,
  /** Mean absolute own progress per compute; absent before the first comparison. */
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

const state = z.strictObject({
  setAside: z.array(setAside).max(MAX_AUTHORS),
  /** Absent if no foreign group has arrived, and in older checkpoints. */
  evidence: z
    .strictObject({
      judge,
      /** Number of own tokens in each bin of places. */
      calibration: z.array(amount).max(64),
      /** Least recently seen first. */
      authors: z.array(author).max(MAX_AUTHORS),
    })
    .exactOptional(),
})

/** Fields of older checkpoints that nothing reads any more, of the evidence and of an author in it. */
const FORMER = { evidence: ['speedUp', 'noise', 'costs'], author: ['allowance'] }

/** What the oldest checkpoints say about single authors cannot be used, except for who is set aside. */
export const learnerState = z.preprocess((given) => {
  const { evidence, ...rest } = (given ?? {}) as { evidence?: Record<string, unknown> }
  if (!evidence) return given
  if (!('calibration' in evidence)) return rest
  const { authors } = evidence
  return {
    ...rest,
    evidence: {
      ...without(evidence, FORMER.evidence),
      authors: Array.isArray(authors) ? authors.map((one) => one && without(one, FORMER.author)) : authors,
    },
  }
}, state)

function without(given: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)))
}

export type LearnerState = z.infer<typeof state>
type Evidence = NonNullable<LearnerState['evidence']>
export type JudgeEvidence = z.infer<typeof judge>
/** The authors' state, least recently seen first. */
export type AuthorsState = Pick<LearnerState, 'setAside'> & Pick<Evidence, 'calibration' | 'authors'>
