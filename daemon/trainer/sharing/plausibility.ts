// Tests whether a peer's reported log-probs can be believed. An honest sampler passes whatever its weights,
// precision or version.
//
// Rollouts sampled from a distribution b satisfy E[p / b] <= 1 for any other distribution p, token by token,
// with equality if b covers the support of p. Here p is this node's own policy. So the mean importance weight
// of an honest peer's tokens is about 1, however different its policy is. A peer that understates its
// probabilities, which makes its tokens weigh more, has a mean above 1. Betting on that is a test martingale
// (Shafer 2021): each batch multiplies the wealth by 1 + BET (mean weight / (1 + TOLERANCE) - 1). For an
// honest peer it ever reaches 1 / ALPHA with probability at most ALPHA. TOLERANCE covers rounding and
// quantization (log-probs off by s raise the mean by s^2 / 2) and the selection of groups with a signal.
// Overstating gives smaller weights and harms nobody. But log-probs that are all about zero while this node
// is uncertain come from no sampler, and are not believed either.

export interface Plausibility {
  believed: boolean
  /** Natural logarithm of the wealth. */
  wealth: number
  /** Consecutive good batches since it was last disbelieved. */
  good: number
  /** Why it is not believed. */
  reason?: string
}

/** One batch of a peer's tokens: means over those with a reported log-prob. */
export interface Reported {
  /** Importance weight: this node's probability over the reported one. */
  weight: number
  /** Reported log-prob. */
  behaviour: number
  /** This node's entropy at these tokens, in nats. */
  entropy: number
}

const ALPHA = 1e-3
const TOLERANCE = 0.1
const BET = 0.5
/** Consecutive good batches before a disbelieved peer is believed again. */
const GOOD_BATCHES = 20
/** Lower bound on the log wealth, so that a peer cannot save up good behaviour. */
const LEAST_WEALTH = -1
/** Upper bound on the log wealth; a mean weight may be infinite in half precision. */
const MOST_WEALTH = 100

export const believed = (): Plausibility => ({ believed: true, wealth: 0, good: 0 })

export function reviewed(before: Plausibility, { weight, behaviour, entropy }: Reported): Plausibility {
  const certain = behaviour > -1e-3 && entropy > 0.1
  const factor = 1 + BET * (weight / (1 + TOLERANCE) - 1)
  const gained = Number.isNaN(factor) ? MOST_WEALTH : Math.log(Math.max(factor, 1e-6))
  const wealth = Math.min(MOST_WEALTH, Math.max(LEAST_WEALTH, before.wealth + gained))
  const isGood = !certain && weight <= 1 + TOLERANCE
  if (!before.believed) {
    const good = isGood ? before.good + 1 : 0
    return good >= GOOD_BATCHES ? believed() : { ...before, wealth, good }
  }
  if (certain)
    return {
      believed: false,
      wealth,
      good: 0,
      reason: 'its log-probs are all about 0, which no sampler produces',
    }
  if (!(wealth < Math.log(1 / ALPHA)))
    return {
      believed: false,
      wealth,
      good: 0,
      reason: `its tokens are on average ${weight.toFixed(1)} times as likely under this node's policy as it reports`,
    }
  return { believed: true, wealth, good: 0 }
}
