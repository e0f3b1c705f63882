// What the number of groups in a step is good for: progress, learning rate and cost, as pure functions.

/**
 * Progress of a step of that many groups, as a share of that of a step without noise. `noise`: noise scale N in groups.
 * At the best learning rate for B groups it is B / (B + N) (McCandlish et al. 2018, arXiv:1812.06162, section 2.2). At
 * the same rate for every B it is the root of that: AdamW divides the mean gradient by the root of the mean square, which
 * has the noise in it.
 */
export function progressOf(groups: number, noise: number, { isRateScaled }: RateRule): number {
  if (!(groups > 0)) return 0
  const share = Number.isFinite(noise) ? groups / (groups + noise) : 0
  return isRateScaled ? share : Math.sqrt(share)
}

export interface RateRule {
  /** Whether the learning rate follows the number of groups in a batch. */
  isRateScaled: boolean
}

/** Equal groups that would have as little noise as these with their weights (Kish 1965). */
export function effectiveGroups(weights: readonly number[]): number {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const squares = weights.reduce((total, weight) => total + weight * weight, 0)
  return squares > 0 ? (sum * sum) / squares : 0
}

/**
 * However many groups a step has, its rate is at most this many times the config's. In our runs the policy
 * collapsed at three times the best rate, with eight times the groups as well.
 */
const MOST_RATE = 2

/**
 * Factor on the learning rate, which was set for batches of `usual` groups: the square-root rule for Adam
 * (Malladi et al. 2022, arXiv:2205.10287). A batch beyond the noise scale has hardly less noise than one at it, so the
 * rule is applied to the noise that is left: √((1 + N / usual) / (1 + N / effective)) at noise scale N, which is
 * √(effective / usual) for a large N and while N is unknown. At most MOST_RATE.
 */
export function rateFactor(
  { effective, usual }: { effective: number; usual: number },
  noise = Number.POSITIVE_INFINITY,
): number {
  if (!(effective > 0) || !(usual > 0)) return 1
  const ratio = Number.isFinite(noise) ? (1 + noise / usual) / (1 + noise / effective) : effective / usual
  return Math.min(MOST_RATE, Math.sqrt(ratio))
}

export interface Costs {
  /** Compute for an own group with a signal: sampling, with those that came without one, and training. */
  own: number
  /** Compute to train on a foreign group, in the same unit. */
  foreign: number
}

/** Until the noise scale is known: this many own batches. */
const ASSUMED_NOISE = 8
/** Until costs are known: sampling a group takes as long as training on it. */
const ASSUMED_COSTS: Costs = { own: 2, foreign: 1 }

/** Part of a batch that stays own, so that own rollouts confirm each step. As in our runs with eight nodes. */
const OWN_PART = 1 / 8
/** J is at least this part of a batch, also while no peer is known: newcomers' groups take no own one's place. */
const OPEN_PART = 1 / 4

/**
 * Own groups at least, and J, in a batch of `usual` groups while the learning rate is the one for such batches: groups of known
 * peers take the place of own ones, and make the batch no larger. A step with more groups goes further only by the root of
 * their number, so they bring more in further steps. Each peer counts as much as this node: one has half of a batch, as long
 * as enough own groups wait. `peers`: those whose groups wait and count something.
 */
export function filledBatch(usual: number, peers: number): { leastOwn: number; foreign: number } {
  const leastOwn = Math.ceil(usual * Math.max(OWN_PART, 1 / (1 + peers)))
  return { leastOwn, foreign: Math.max(Math.ceil(OPEN_PART * usual), usual - leastOwn) }
}

/**
 * J that makes the most progress per compute beside `own` own groups while the learning rate follows the batch: the maximum of
 *   progressOf(own + weight J) / (own · costs.own + J · costs.foreign).
 * With B = own + weight J, the denominator is proportional to B + K, where K = own (weight costs.own /
 * costs.foreign − 1), and B / ((B + noise)(B + K)) is largest at B = √(noise K).
 */
export function bestForeign({
  own,
  weight,
  limit,
  noise = ASSUMED_NOISE * own,
  costs = ASSUMED_COSTS,
}: {
  own: number
  /** What a foreign group counts of an own one, 0 to 1. */
  weight: number
  limit: number
  noise?: number | undefined
  costs?: Costs | undefined
}): number {
  if (!(weight > 0)) return 0
  if (!(costs.foreign > 0)) return limit
  const worth = own * ((weight * costs.own) / costs.foreign - 1)
  const best = worth > 0 && noise > 0 ? (Math.sqrt(noise * worth) - own) / weight : 0
  return Math.max(0, Math.min(limit, Math.round(best)))
}
