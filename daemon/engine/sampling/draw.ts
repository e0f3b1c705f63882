// Draws one token from a row of logits, in double precision, and reports its exact log-prob.
//
// The token is drawn from softmax(logits / temperature), truncated by top-k, then top-p, then min-p, and
// renormalised. Log-prob and entropy are those of this distribution: off-policy corrections need the
// probability with which a token was actually drawn. The log-prob under the policy itself, at temperature 1 and
// not truncated, is reported as well.

import type { Sampling } from '../engine.ts'
import { leastWeight } from './cutoff.ts'

export interface Draw {
  token: number
  /** Under the distribution that the token was drawn from. */
  logprob: number
  /** Of that distribution, nats. */
  entropy: number
  /** Under softmax(logits). */
  policyLogprob: number
}

/**
 * Takes the token at point `u` of the cumulative distribution. Temperature 0 takes the most likely token and
 * reports the policy at temperature 1. `work` is scratch memory for one row.
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
  for (let i = 0; i < size; i++) work[i] = Math.exp((logits[i]! - highest) * inverse)
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

/** Sets the weights of truncated tokens to 0. Ties at a limit and the most likely token are kept. */
function cutOff(sampling: Sampling, weights: Float64Array): void {
  const { topK, topP, minP } = sampling
  const least = topK === undefined && topP === undefined ? 0 : leastWeight(weights, sampling)
  // The largest weight is 1.
  const limit = Math.max(least, minP ?? 0)
  for (let i = 0; i < weights.length; i++) if (weights[i]! < limit) weights[i] = 0
}
