// What a node knows about one author whose groups it has trained on, and the weight that follows.

import type { SharingContributor } from '../../../protocol/api/index.ts'
import { noPairs, type Pairs, ratioInterval, weightOf } from './interval.ts'
import { type Typicality, untested } from './typicality.ts'

export interface Author {
  typicality: Typicality
  /**
   * Pairs of the author's and this node's progress per compute in the same updates, since the author was last set aside
   * or the last epoch ended.
   */
  pairs: Pairs
  /**
   * Decayed sum of the norms of its applied gradients, relative to own ones. Gives its share of what peers contributed.
   */
  norm: number
  /** Number of updates for which the author remains set aside. */
  away: number
  offences: number
  reason: string | undefined
}

export const stranger = (): Author => ({
  typicality: untested(),
  pairs: noPairs(),
  norm: 0,
  away: 0,
  offences: 0,
  reason: undefined,
})

/**
 * True once the author's tokens were found to come from a policy like this node's. That takes hundreds of tokens, so it
 * is never true for a new identity. The progress from its groups does not matter here: single updates are mostly noise,
 * and an author who does harm is set aside.
 */
export const hasEarned = ({ typicality, away }: Author): boolean =>
  away === 0 && typicality.likeness === 'matched'

/**
 * Weight of an author's groups relative to own groups, 0 to 1: full until it is fairly sure that they bring less. A
 * mismatched author's groups have weight 0: imitating another policy's samples as if they were own ones does not teach
 * what that policy finds good.
 */
export function weightOfAuthor({ typicality, pairs }: Author): number {
  return typicality.likeness === 'mismatched' ? 0 : weightOf(pairs)
}

/** The author as shown to users. `total`: sum of all authors' norms. */
export function contributorOf(peer: string, author: Author, total: number): SharingContributor {
  const { norm, pairs, away, reason, typicality } = author
  const ratio = pairs.count > 2 ? ratioInterval(pairs, 0.05) : undefined
  return {
    peer,
    share: total > 0 ? norm / total : 0,
    weight: away > 0 ? 0 : weightOfAuthor(author),
    ...(ratio ? { effect: ratio.value - 1 } : {}),
    ...(ratio && Number.isFinite(ratio.low) ? { low: ratio.low - 1 } : {}),
    ...(ratio && Number.isFinite(ratio.high) ? { high: ratio.high - 1 } : {}),
    comparisons: pairs.count,
    ...(away > 0 && reason !== undefined ? { setAside: reason } : {}),
    likeness: typicality.likeness,
  }
}
