// What an author's groups weigh in a batch, where an own group has 1.

import type { Group } from '../../../protocol/train/index.ts'
import type { Authors } from '../sharing/authors.ts'
import type { PartReport } from '../sharing/mixing/part.ts'
import { evidenceOf } from '../watch.ts'
import type { LearnerParts } from './contract.ts'

export interface Weights {
  /** Undefined for a newcomer. Given a report of the author's gradient, takes its tokens into account. */
  earnedWeight(author: string, report?: PartReport): number | undefined
  /**
   * 0 for a newcomer: its groups join batches but make none due, since there would be nothing to bound a step made of
   * them alone.
   */
  weightOf(author: string): number
  /**
   * Number of peers whose groups have weight. Infinite if the user vouches for one: it may fill the peers' part of a
   * batch alone.
   */
  equalsAmong(groups: readonly Group[]): number
  isKnown(author: string): boolean
  isUnknown(author: string): boolean
}

export function createWeights({
  authors,
  isKnown,
  isTrusted = () => false,
}: { authors: Authors } & {
  [Name in 'isKnown' | 'isTrusted']: LearnerParts[Name] | undefined
}): Weights {
  const earnedWeight = (author: string, report?: PartReport): number | undefined =>
    isTrusted(author) ? 1 : authors.earnedWeight(author, report && evidenceOf(report))
  const weightOf = (author: string): number => earnedWeight(author) ?? 0
  return {
    earnedWeight,
    weightOf,
    equalsAmong(groups) {
      const peers = [...new Set(groups.map(({ author }) => author))].filter((author) => weightOf(author) > 0)
      return peers.some(isTrusted) ? Number.POSITIVE_INFINITY : peers.length
    },
    isKnown: (author) => authors.hasEarned(author) || (isKnown?.(author) ?? false),
    isUnknown: (author) => !isTrusted(author) && authors.isUnknown(author),
  }
}
