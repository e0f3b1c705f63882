// Can a peer's log-probs be believed? A test that no honest sampler fails, whatever its weights, precision or version.
//
// Rollouts that were drawn from a distribution b have E[p / b] <= 1 for any other distribution p, token by token, with
// p this node's own policy: equality if b covers all that p can say. So the mean importance weight of an honest
// peer's tokens is about 1 however unlike its policy is, and one that understates its own probabilities, which
// is what makes its tokens weigh more, has a mean above 1. The bet on that is a test martingale (Shafer 2021): wealth
// times 1 + BET (mean weight / (1 + TOLERANCE) - 1) a batch, which for an honest peer ever reaches 1 / ALPHA with a
// chance of at most ALPHA. The tolerance covers rounding and quantisation (log-probs off by s raise the mean by
// s^2 / 2) and that groups are chosen for having a signal. Overstating gives smaller weights and harms nobody,
// but log-probs that are all about zero while this node is in doubt are no sampler's, and are not believed either.

export interface Plausibility {
  believed: boolean
  /** Natural log of the wealth. */
  wealth: number
  /** Batches in a row, since it was last disbelieved, in which nothing was wrong. */
  good: number
  /** Why it is not believed. */
  reason?: string
}

/** What one batch of a peer's tokens said, as means over those whose log-prob was reported. */
export interface Reported {
  /** Importance weight, own probability over the reported one. */
  weight: number
  /** Reported log-prob. */
  behaviour: number
  /** This node's own entropy at these tokens, nats. */
  entropy: number
}

const ALPHA = 1e-3
const TOLERANCE = 0.1
const BET = 0.5
/** Hysteresis: a peer that was caught is believed again only after so many good batches in a row. */
const GOOD_BATCHES = 20
/** No longer memory than this for having been good: a peer cannot save up. */
const LEAST_WEALTH = -1
/** Far beyond what proves it; a mean weight may be infinite in half precision. */
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
    return { believed: false, wealth, good: 0, reason: 'its log-probs are all about 0, which no sampler has' }
  if (!(wealth < Math.log(1 / ALPHA)))
    return {
      believed: false,
      wealth,
      good: 0,
      reason: `its tokens are ${weight.toFixed(1)} times likelier here than it says they were there`,
    }
  return { believed: true, wealth, good: 0 }
}
