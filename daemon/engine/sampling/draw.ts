// Draws one token from a row of logits, in double precision, and reports its exact log-prob.
//
// The token is drawn from softmax(logits / temperature), truncated by top-k, then top-p, then min-p, and renormalised.
// The reported log-prob and entropy are those of this distribution, because off-policy corrections need the probability
// with which the token was actually drawn. The log-prob under the policy itself (temperature 1, no truncation) is
// reported as well.

import type { Sampling } from '../engine.ts'
import { leastWeight } from './cutoff.ts'

export interface Draw {
  token: number
  /** Under the distribution that the token was drawn from. */
  logprob: number
  /** Entropy of that distribution, in nats. */
  entropy: number
  /** Under softmax(logits). */
  policyLogprob: number
}

/**
 * Draws the token at point `u` of the cumulative distribution. Temperature 0 takes the most likely token and reports
 * the policy at temperature 1. `work` is scratch memory for one row.
 */
export function draw(logits: Float32Array, sampling: Sampling, u: number, work: Float64Array): Draw {
  const { temperature } = sampling
  const size = logits.length
  const inverse = temperature === 0 ? 1 : 1 / temperature
  let best = 0
  let highest = Number.NEGATIVE_INFINITY
  for (let i = 0; i < size; i++) {
    const logit = logits[i]!
    if (logit > highest) {
      highest = logit
      best = i
    }
  }
  exponentials(logits, highest, inverse, work)
  const cut = temperature > 0 && isCut(sampling)
  if (cut) cutOff(sampling, work.subarray(0, size))

  let total = 0
  let weighted = 0
  for (let i = 0; i < size; i++) {
    const weight = work[i]!
    if (weight === 0) continue
    total += weight
    weighted += weight * (logits[i]! - highest) * inverse
  }
  const logTotal = Math.log(total)
  const token = temperature > 0 ? pick(work, size, u * total) : best
  const logprob = (logits[token]! - highest) * inverse - logTotal
  return {
    token,
    logprob,
    entropy: logTotal - weighted / total,
    policyLogprob: inverse === 1 && !cut ? logprob : logits[token]! - highest - logSumExp(logits, highest),
  }
}

/** Each factor of 2 is divided into 2^7 parts. FACTORS exceeds the number of factors of 2 that a double has below 1. */
const LOG_PARTS = 7
const PARTS = 2 ** LOG_PARTS
const FACTORS = 1100
const FRACTIONS = Float64Array.from({ length: PARTS }, (_, i) => 2 ** (-i / PARTS))
const POWERS = Float64Array.from({ length: FACTORS }, (_, i) => 2 ** -i)
/** exp(x) is 0 in double precision below this. */
const MIN = -745.2

/**
 * work[i] = exp((logits[i] - highest) * inverse), with a relative error below 1e-13. With `Math.exp`, drawing a token
 * from 49,152 logits would take twice as long.
 */
function exponentials(logits: Float32Array, highest: number, inverse: number, work: Float64Array): void {
  for (let i = 0; i < logits.length; i++) {
    const x = (logits[i]! - highest) * inverse
    if (x < MIN) {
      work[i] = 0
      continue
    }
    // x = rest - parts * ln 2 / PARTS, with the rest between -ln 2 / PARTS and 0.
    const parts = (x * (-PARTS / Math.LN2)) | 0
    const rest = x + parts * (Math.LN2 / PARTS)
    const small = 1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6 + rest * (1 / 24 + rest * (1 / 120)))))
    work[i] = small * FRACTIONS[parts & (PARTS - 1)]! * POWERS[parts >> LOG_PARTS]!
  }
}

function pick(weights: Float64Array, size: number, target: number): number {
  let sum = 0
  let last = 0
  for (let i = 0; i < size; i++) {
    const weight = weights[i]!
    if (weight === 0) continue
    sum += weight
    last = i
    if (sum > target) return i
  }
  // Because of rounding, the sum may not reach the target.
  return last
}

function logSumExp(logits: Float32Array, highest: number): number {
  let total = 0
  for (let i = 0; i < logits.length; i++) total += Math.exp(logits[i]! - highest)
  return Math.log(total)
}

function isCut({ topK, topP, minP }: Sampling): boolean {
  return topK !== undefined || topP !== undefined || minP !== undefined
}

/** Sets the weights of truncated tokens to 0. Ties at a limit are kept, and so is the most likely token. */
function cutOff(sampling: Sampling, weights: Float64Array): void {
  const { topK, topP, minP } = sampling
  const least = topK === undefined && topP === undefined ? 0 : leastWeight(weights, sampling)
  // The largest weight is 1.
  const limit = Math.max(least, minP ?? 0)
  for (let i = 0; i < weights.length; i++) if (weights[i]! < limit) weights[i] = 0
}
