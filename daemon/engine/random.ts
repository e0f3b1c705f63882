// Random numbers for sampling: a pure function of (sequence seed, token index), so that a sequence's tokens depend on
// nothing around it and can be continued from anywhere.

/** Uniform in [0, 1) with 32 bits. The mixing is that of MurmurHash3's finalizer, twice. */
export function uniformAt(seed: number, index: number): number {
  let h = (seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0
  for (let round = 0; round < 2; round++) {
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    h = (h ^ (h >>> 16)) >>> 0
    h = (h + 0x6d2b79f5) >>> 0
  }
  return h / 2 ** 32
}

export interface Draw {
  token: number
  logprob: number
  entropy: number
}

/**
 * Draws a token from softmax(logits / temperature) at the point `u` of its cumulative distribution, in double
 * precision. Temperature 0 takes the most likely token and reports the log-prob and entropy of the untempered policy.
 */
export function draw(
  logits: Float32Array,
  offset: number,
  size: number,
  temperature: number,
  u: number,
  work: Float64Array,
): Draw {
  const inverse = temperature === 0 ? 1 : 1 / temperature
  let best = 0
  let highest = Number.NEGATIVE_INFINITY
  for (let i = 0; i < size; i++) {
    const logit = logits[offset + i]!
    if (logit > highest) {
      highest = logit
      best = i
    }
  }
  let total = 0
  let weighted = 0
  for (let i = 0; i < size; i++) {
    const shifted = (logits[offset + i]! - highest) * inverse
    const weight = Math.exp(shifted)
    work[i] = weight
    total += weight
    weighted += weight * shifted
  }
  const logTotal = Math.log(total)
  const entropy = logTotal - weighted / total
  let token = best
  if (temperature > 0) {
    const target = u * total
    let sum = 0
    token = size - 1
    for (let i = 0; i < size; i++) {
      sum += work[i]!
      if (sum > target) {
        token = i
        break
      }
    }
    // Rounding may leave the last tokens unreached; never return one of no weight.
    while (token > 0 && work[token] === 0) token--
  }
  return { token, logprob: (logits[offset + token]! - highest) * inverse - logTotal, entropy }
}
