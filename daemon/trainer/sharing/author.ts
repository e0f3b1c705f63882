// What is known of one peer whose groups were trained on, and the limits that go by it.

import type { SharingContributor } from '../../../protocol/api/index.ts'
import { noPairs, type Pairs, ratioInterval } from './interval.ts'
import { believed, type Plausibility } from './plausibility.ts'
import { noTrust, type Trust, weightOf } from './trust.ts'

export interface Author {
  plausibility: Plausibility
  /** Its groups came with log-probs. */
  reports: boolean
  trust: Trust
  /** Its progress per compute and the own one in the same updates, since it was last set aside or an epoch ended. */
  pairs: Pairs
  /** Of its gradients as applied, in units of the own ones', fading: its share of what was learnt from peers. */
  norm: number
  /** Squared norm, in units of the own gradient's, that it may still use. */
  allowance: number
  /** Updates that it still stays out. */
  away: number
  offences: number
  reason: string | undefined
}

/** Updates that the expectation of one author counts for, as of all peers. */
const PEERS = 20

export const stranger = (allowance: number): Author => ({
  plausibility: believed(),
  reports: false,
  trust: noTrust(),
  pairs: noPairs(),
  norm: 0,
  allowance,
  away: 0,
  offences: 0,
  reason: undefined,
})

/** `ofAny` is the weight of an author of whom nothing is known. */
export const weightOfAuthor = ({ trust }: Author, ofAny: number): number => weightOf(trust, ofAny, PEERS)

/** For a screen. `total` is the norm of all authors together. */
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
