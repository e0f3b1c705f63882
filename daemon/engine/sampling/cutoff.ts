// Finds the smallest weight that top-k and top-p keep. Weights are counted in buckets, and only the buckets that
// contain a limit are sorted: sorting all 151,936 weights of a vocabulary takes longer than a decoding step of a small
// model.

import type { Sampling } from '../engine.ts'

/** 16 buckets for each halving of the weight. Weights below 2^-32 of the largest share the last bucket. */
const BUCKETS = 16 * 32
/** High word of the double 1.0, the largest weight. The high words of positive doubles are ordered as the doubles. */
const ONE = 0x3ff00000
const SHIFT = 16

/**
 * Weights lie between 0 and 1, and the largest is 1. Top-p applies to what top-k keeps. A weight equal to the returned
 * limit is kept; the limit is 0 if nothing is cut.
 */
export function leastWeight(weights: Float64Array, { topK, topP }: Sampling): number {
  const words = new Uint32Array(weights.buffer, weights.byteOffset, 2 * weights.length)
  const bucketOf = (i: number): number => Math.min((ONE - words[2 * i + 1]!) >>> SHIFT, BUCKETS - 1)
  const counts = new Int32Array(BUCKETS)
  const masses = new Float64Array(BUCKETS)
  for (let i = 0; i < weights.length; i++) {
    const bucket = bucketOf(i)
    counts[bucket] = counts[bucket]! + 1
    masses[bucket] = masses[bucket]! + weights[i]!
  }
  /** A bucket's weights, largest first. */
  const sorted = (bucket: number): Float64Array => {
    const found = new Float64Array(counts[bucket]!)
    let at = 0
    for (let i = 0; i < weights.length; i++) if (bucketOf(i) === bucket) found[at++] = weights[i]!
    return found.sort().reverse()
  }

  let limit = 0
  let mass = 0
  let left = Math.min(topK ?? weights.length, weights.length)
  for (let bucket = 0; left > 0; bucket++) {
    if (counts[bucket]! < left) {
      left -= counts[bucket]!
      mass += masses[bucket]!
      continue
    }
    const kept = topK === undefined ? undefined : sorted(bucket).subarray(0, left)
    mass += kept ? kept.reduce((a, b) => a + b, 0) : masses[bucket]!
    limit = kept?.at(-1) ?? 0
    break
  }
  if (topP === undefined) return limit

  let sum = 0
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    if (sum + masses[bucket]! < topP * mass) {
      sum += masses[bucket]!
      continue
    }
    for (const weight of sorted(bucket)) {
      sum += weight
      if (sum >= topP * mass) return Math.max(limit, weight)
    }
  }
  return limit
}
