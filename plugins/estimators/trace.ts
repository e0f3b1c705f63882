// V-trace's arithmetic on one rollout, and which samplers' log-probs it can be done with.

import type { Rollout } from '../../protocol/train/index.ts'

export interface TraceBounds {
  rhoBar: number
  cBar: number
  pgCap: number
  gamma: number
  lambda: number
}

/** One number a token each; at an environment's, advantages are 0 and targets NaN. */
export interface Trace {
  advantages: Float64Array
  /** What V ought to be, by the policy that the ratios lead to. */
  targets: Float64Array
}

/** Log-ratios are cut here before they are exponents, as verl does it. */
const MOST_NATS = 20
/** What a sampler's arithmetic may put on top of certainty. */
const ROUNDING = 1e-6

/** False where nobody who can be believed wrote down how likely the tokens were. */
export function hasSampler({ tokens, lossMask, behaviourLogprobs }: Rollout): boolean {
  if (behaviourLogprobs?.length !== tokens.length) return false
  const written = behaviourLogprobs.filter((_, t) => lossMask?.[t] !== 0)
  return (
    written.every((logprob) => Number.isFinite(logprob) && logprob <= ROUNDING) &&
    written.some((one) => one < 0)
  )
}

/**
 * pi / mu of each token; 1 at an environment's, and everywhere where there is no sampler. Undefined where the policy's own
 * log-probs are no numbers.
 */
export function ratiosOf(rollout: Rollout, logprobs: Float32Array): Float64Array | undefined {
  const { tokens, lossMask, behaviourLogprobs } = rollout
  if (!hasSampler(rollout)) return new Float64Array(tokens.length).fill(1)
  const ratios = Float64Array.from(tokens, (_, t) => {
    if (lossMask?.[t] === 0) return 1
    const gap = logprobs[t]! - behaviourLogprobs![t]!
    return Math.exp(Math.max(-MOST_NATS, Math.min(MOST_NATS, gap)))
  })
  return ratios.every(Number.isFinite) ? ratios : undefined
}

export function traceOf(
  { lossMask }: Rollout,
  { rewards, values, ratios }: { rewards: Float64Array; values: Float64Array; ratios: Float64Array },
  { rhoBar, cBar, pgCap, gamma, lambda }: TraceBounds,
): Trace {
  const advantages = new Float64Array(values.length)
  const targets = new Float64Array(values.length).fill(Number.NaN)
  // V and v of the token after; both 0 at the end.
  let [nextValue, nextTarget] = [0, 0]
  for (let t = values.length - 1; t >= 0; t--) {
    if (lossMask?.[t] === 0) continue
    const [ratio, value, reward] = [ratios[t]!, values[t]!, rewards[t]!]
    const delta = Math.min(rhoBar, ratio) * (reward + gamma * nextValue - value)
    const trace = lambda * Math.min(cBar, ratio)
    advantages[t] = Math.min(pgCap, ratio) * (reward + gamma * nextTarget - value)
    nextTarget = value + delta + gamma * trace * (nextTarget - nextValue)
    nextValue = value
    targets[t] = nextTarget
  }
  return { advantages, targets }
}
