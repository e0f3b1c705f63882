// Which heads that are far away are tried, and how. A head with more work behind it is of a node that is ahead, one with less
// of a slower one, unless its node does other tasks, or nothing was ever taken of it: then the two meet in the middle.

import { type FarRules, type FetchedHead, hasMore, type Learnt } from '../../trainer/heads/exchange.ts'
import type { Partners } from '../../trainer/heads/partners.ts'
import type { Probation } from '../../trainer/heads/probation.ts'
import type { Asking } from './asking.ts'
import type { TrialParts } from './trials.ts'

interface FarRulesParts extends Pick<TrialParts, 'chosen'>, Pick<Asking, 'forget'> {
  partners: Pick<Partners, 'isKnown'>
  probation: Pick<Probation, 'isSuspect'>
  /** What this node has learnt from. */
  learnt(): Learnt
  /** Its weights were no better a moment ago. */
  isPaused(peer: string): boolean
}

export function createFarRules({
  chosen,
  partners,
  probation,
  learnt,
  isPaused,
  forget,
}: FarRulesParts): FarRules {
  /** As far as its node says; one that says nothing may do the same. */
  const isUnlike = ({ tasks = [] }: FetchedHead): boolean => {
    const listOf = (some: ReturnType<typeof chosen>): string =>
      [...new Set(some.map(({ name, difficulty }) => `${name} ${difficulty}`))].sort().join()
    return tasks.length > 0 && listOf(tasks) !== listOf(chosen())
  }
  return {
    isSuspect: probation.isSuspect,
    mayFollow: (head) => !probation.isSuspect(head.author) && !isPaused(head.author) && !isUnlike(head),
    isLeft(head) {
      if (isUnlike(head)) return false
      if (!isPaused(head.author)) return partners.isKnown(head.author) && hasMore(learnt(), head)
      // After the pause, it may be better as it is.
      forget(head.author)
      return true
    },
  }
}
