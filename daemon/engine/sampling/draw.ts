// Draws one token from a row of logits, in double precision, and reports its exact log-prob.
//
// The token is drawn from softmax(logits / temperature), truncated by top-k, then top-p, then min-p, and renormalised.
// The reported log-prob and entropy are those of this distribution, because off-policy corrections need the probability
// with which the token was actually drawn. The log-prob under the policy itself (temperature 1, no truncation) is
// reported as well.
//
// A grammar may allow only some tokens. Then all of this is about the distribution over these, and the probability that
// they had together is reported, too.

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
  /** Probability of all tokens that were allowed, before anything was truncated; 1 if all were. */
  allowed: number
}

/**
 * Draws the token at point `u` of the cumulative distribution. Temperature 0 takes the most likely token and reports
 * the policy at temperature 1. `work` is scratch memory for one row. `mask` has a bit for each token that is allowed.
 */
export function draw(
  row: Float32Array,
  sampling: Sampling,
  u: number,
  work: Float64Array,
  mask?: Uint32Array,
): Draw {
  const { temperature } = sampling
  const size = row.length
  const inverse = temperature === 0 ? 1 : 1 / temperature
  const logits = mask ? maskedBy(row, mask) : row
  const best = likeliest(logits)
  const highest = logits[best]!
  const allowed = mask ? massOf(row, mask, inverse, work) : 1
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
    policyLogprob: inverse === 1 && !cut && !mask ? logprob : policyLogprob(row, token),
    allowed,
  }
}

function likeliest(logits: Float32Array): number {
  let best = 0
  let highest = Number.NEGATIVE_INFINITY
  for (let i = 0; i < logits.length; i++) {
    const logit = logits[i]!
    if (logit > highest) {
      highest = logit
      best = i
    }
  }
  return best
}

const has = (mask: Uint32Array, token: number): boolean => ((mask[token >>> 5]! >>> (token & 31)) & 1) === 1

function maskedBy(logits: Float32Array, mask: Uint32Array): Float32Array {
  return logits.map((logit, token) => (has(mask, token) ? logit : Number.NEGATIVE_INFINITY))
}

function massOf(logits: Float32Array, mask: Uint32Array, inverse: number, work: Float64Array): number {
  exponentials(logits, logits[likeliest(logits)]!, inverse, work)
  let [total, kept] = [0, 0]
  for (let i = 0; i < logits.length; i++) {
    total += work[i]!
    if (has(mask, i)) kept += work[i]!
  }
  return kept / total
}

function policyLogprob(logits: Float32Array, token: number): number {
  const highest = logits[likeliest(logits)]!
  return logits[token]! - highest - logSumExp(logits, highest)
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

/** Whether only some tokens may be drawn. */
export function isCut({ topK, topP, minP }: Sampling): boolean {
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
