// Whether foreign groups help, as parts of a snapshot.

export const SHARING_VERDICTS = ['helps', 'hurts', 'no difference', 'not yet known'] as const

export type SharingVerdict = (typeof SHARING_VERDICTS)[number]

/**
 * Whether foreign groups help this node. The node measures the progress made by its own part and by each peer's part
 * of an update, per compute spent on that part.
 */
export interface SharingInfo {
  /**
   * Progress per compute on foreign groups divided by that on own groups, minus 1: 0.5 means 50 % more, 0 the same, -1
   * no progress; below -1, foreign groups undo progress. Absent until it can be computed.
   */
  effect?: number
  /** Ends of the 95 % confidence interval, which is valid at any time. An absent end is unbounded. */
  low?: number
  high?: number
  /** What `effect` measures, in words. */
  unit: string
  /** Paired comparisons since J last changed, and the number needed for a verdict. */
  comparisons: number
  needed: number
  /**
   * Maximum numbers of own and foreign groups in a batch (I and J). J is at most `limit`, and 0 while the verdict is
   * that foreign groups hurt. J leaves an eighth of a batch to own groups.
   */
  own: number
  foreign: number
  limit: number
  verdict: SharingVerdict
  /** The last update: its own groups, its foreign groups, and the number of peers that wrote the latter. */
  last?: { own: number; foreign: number; peers: number }
  /** Share of the node's compute spent on comparisons, 0 to 1. */
  cost: number
  /** At most 32, largest share first. */
  contributors: SharingContributor[]
}

export interface SharingContributor {
  /** Peer ID. */
  peer: string
  /** Share of the recent norm of the foreign gradient, 0 to 1. */
  share: number
  /**
   * Weight of its groups relative to own ones, 0 to 1. It is 1 until they quite surely make less progress for the same
   * compute, then the upper end of an 80 % interval for that ratio.
   */
  weight: number
  effect?: number
  low?: number
  high?: number
  comparisons: number
  /** Why this author has been set aside, if it has. */
  setAside?: string
  /**
   * Whether its rollouts look like those of a policy like this node's. `matched`: they do. `mismatched`: they do not,
   * so they have no weight in a batch and their log-probs are not used. `unknown`: too few were seen.
   */
  likeness: 'matched' | 'mismatched' | 'unknown'
}
