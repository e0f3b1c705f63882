// How learning rate and cost depend on the number of groups in a step. Pure functions.

/** Number of equally weighted groups that would have the same noise as groups of these weights (Kish 1965). */
export function effectiveGroups(weights: readonly number[]): number {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const squares = weights.reduce((total, weight) => total + weight * weight, 0)
  return squares > 0 ? (sum * sum) / squares : 0
}

/**
 * Maximum factor on the configured learning rate, however many groups a step has. In our runs the policy collapsed at
 * three times the best rate, even with eight times as many groups.
 */
const MOST_RATE = 2

/**
 * Factor on the learning rate, which was set for batches of `usual` groups: the square-root rule for Adam (Malladi et
 * al. 2022, arXiv:2205.10287). Beyond the noise scale, a larger batch hardly reduces the noise any further, so the rule
 * is applied to the remaining noise: √((1 + N / usual) / (1 + N / effective)) at noise scale N, which is √(effective /
 * usual) for a large N and while N is unknown. At most MOST_RATE.
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
  /** Compute per own group with a signal: training on it, and sampling it and the groups that came without one. */
  own: number
  /** Compute to train on a foreign group, in the same unit. */
  foreign: number
}

/** Noise scale to assume until it is known, in own batches. */
const ASSUMED_NOISE = 8
/** Costs to assume until they are known: sampling a group takes as long as training on it. */
const ASSUMED_COSTS: Costs = { own: 2, foreign: 1 }

/** Minimum share of own groups in a batch, so that own rollouts confirm each step. As in our runs with eight nodes. */
const OWN_PART = 1 / 8
/** J is at least this share of a batch, even while no peer is known: newcomers' groups displace no own group. */
const OPEN_PART = 1 / 4

/**
 * The minimum number of own groups, and J, in a batch of `usual` groups while the learning rate does not follow the
 * batch size. Groups of known peers then replace own groups and do not make the batch larger: a step with more groups
 * moves further only by the square root of their number, so spending them on more steps brings more. Each peer counts
 * as much as this node, so a single peer gets half of a batch as long as enough own groups wait. `peers`: number of
 * peers whose waiting groups have weight.
 */
export function filledBatch(usual: number, peers: number): { leastOwn: number; foreign: number } {
  const leastOwn = Math.ceil(usual * Math.max(OWN_PART, 1 / (1 + peers)))
  return { leastOwn, foreign: Math.max(Math.ceil(OPEN_PART * usual), usual - leastOwn) }
}

/**
 * The J that makes the most progress per compute beside `own` own groups, while the learning rate follows the batch
 * size: the maximum of
 *   B / (B + noise) / (own · costs.own + J · costs.foreign), where B = own + weight J.
 * B / (B + noise) is the progress of a step of B groups (McCandlish et al. 2018, arXiv:1812.06162, section 2.2). The
 * cost is proportional to B + K, where K = own (weight costs.own / costs.foreign − 1), and B / ((B + noise)(B + K)) is
 * largest at B = √(noise K).
 */
export function bestForeign({
  own,
  weight,
  limit,
  noise = ASSUMED_NOISE * own,
  costs = ASSUMED_COSTS,
}: {
  own: number
  /** Weight of a foreign group, 0 to 1, where an own group has 1. */
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
