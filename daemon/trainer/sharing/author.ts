// What a node knows about one author whose groups it has trained on, and the weight and limits that follow
// from it.

import type { SharingContributor } from '../../../protocol/api/index.ts'
import { noPairs, type Pairs, ratioInterval } from './interval.ts'
import { believed, type Plausibility } from './plausibility.ts'
import { noTrust, type Trust, weightOf } from './trust.ts'

export interface Author {
  plausibility: Plausibility
  /** Whether its groups come with log-probs. */
  reports: boolean
  trust: Trust
  /**
   * Its and own progress per compute in the same updates, since it was last set aside or the last epoch
   * ended.
   */
  pairs: Pairs
  /**
   * Decayed sum of its applied gradients' norms, relative to own ones: its share of what was learnt from
   * peers.
   */
  norm: number
  /** Squared gradient norm that it may still use, relative to the own gradient's. */
  allowance: number
  /** Remaining updates for which it is set aside. */
  away: number
  /** Updates since its groups were last trained on. Not saved. */
  idle: number
  offences: number
  reason: string | undefined
}

/** Updates that the prior of one author counts as; the prior is the weight of all peers. */
const PEERS = 20

export const stranger = (allowance: number): Author => ({
  plausibility: believed(),
  reports: false,
  trust: noTrust(),
  pairs: noPairs(),
  norm: 0,
  allowance,
  away: 0,
  idle: 0,
  offences: 0,
  reason: undefined,
})

/** Own progress of about three updates: enough updates to judge a newcomer by. */
const EARNED = 1

/** True once its groups were in several updates and made progress; never true for a new identity. */
export const hasEarned = ({ trust, away }: Author): boolean =>
  away === 0 && trust.own >= EARNED && trust.foreign > 0

/** `ofAny`: weight of an unknown author. */
export const weightOfAuthor = ({ trust }: Author, ofAny: number): number => weightOf(trust, ofAny, PEERS)

/** The author as shown to users. `total`: sum of all authors' norms. */
export function contributorOf(
  peer: string,
  author: Author,
  { total, ofAny }: { total: number; ofAny: number },
): SharingContributor {
  const { norm, pairs, away, reason, plausibility, reports } = author
  const ratio = pairs.count > 2 ? ratioInterval(pairs, 0.05) : undefined
  return {
    peer,
    share: total > 0 ? norm / total : 0,
    weight: away > 0 ? 0 : weightOfAuthor(author, ofAny),
    ...(ratio ? { effect: ratio.value - 1 } : {}),
    ...(ratio && Number.isFinite(ratio.low) ? { low: ratio.low - 1 } : {}),
    ...(ratio && Number.isFinite(ratio.high) ? { high: ratio.high - 1 } : {}),
    comparisons: pairs.count,
    ...(away > 0 && reason !== undefined ? { setAside: reason } : {}),
    logprobs: !plausibility.believed ? 'not believed' : reports ? 'used' : 'none',
  }
}
