// Which heads that are far away are tried, and how. A head with more work behind it is of a node that is ahead, one with less
// of a slower one, unless its node does other tasks, or nothing was ever taken of it: then the two meet in the middle.

import type { HeadTask } from '../../../protocol/wire/index.ts'
import { type FarRules, type FetchedHead, hasMore, type Learnt } from './exchange.ts'
import type { Partners } from './partners.ts'
import type { Probation } from './probation.ts'

interface FarRulesParts {
  partners: Pick<Partners, 'isKnown'>
  probation: Pick<Probation, 'isSuspect'>
  /** What this node trains on. */
  chosen(): readonly Pick<HeadTask, 'name' | 'difficulty'>[]
  /** What this node has learnt from. */
  learnt(): Learnt
  /** The peer's weights were no better a moment ago. */
  isPaused(peer: string): boolean
}

export function createFarRules({ partners, probation, chosen, learnt, isPaused }: FarRulesParts): FarRules {
  /** As far as its node says; one that says nothing may do the same. */
  const isUnlike = ({ tasks = [] }: FetchedHead): boolean => {
    const listOf = (some: ReturnType<typeof chosen>): string =>
      [...new Set(some.map(({ name, difficulty }) => `${name} ${difficulty}`))].sort().join()
    return tasks.length > 0 && listOf(tasks) !== listOf(chosen())
  }
  return {
    isSuspect: probation.isSuspect,
    mayFollow: (head) => !probation.isSuspect(head.author) && !isPaused(head.author) && !isUnlike(head),
    isLeft: (head) =>
      !isUnlike(head) &&
      (isPaused(head.author) || (partners.isKnown(head.author) && hasMore(learnt(), head))),
  }
}
