// V-trace for one rollout, and a check that a sampler's log-probs can be used for it.

import type { Rollout } from '../../../protocol/train/index.ts'

export interface TraceBounds {
  rhoBar: number
  cBar: number
  pgCap: number
  gamma: number
  lambda: number
}

/** Each has one number per token. At an environment's tokens, advantages are 0 and targets NaN. */
interface Trace {
  advantages: Float64Array
  /** Targets for V, under the policy that the truncated ratios imply. */
  targets: Float64Array
}

/** Log-ratios are clamped to this before exp, as in verl. */
const MAX_NATS = 20
/** How far above 0 rounding may put a sampler's log-prob. */
const ROUNDING = 1e-6

/** False if there are no plausible behaviour log-probs. */
export function hasSampler({ tokens, lossMask, behaviourLogprobs }: Rollout): boolean {
  if (behaviourLogprobs?.length !== tokens.length) return false
  const written = behaviourLogprobs.filter((_, t) => lossMask?.[t] !== 0)
  return (
    written.every((logprob) => Number.isFinite(logprob) && logprob <= ROUNDING) &&
    written.some((one) => one < 0)
  )
}

/**
 * pi / mu per token; 1 at an environment's tokens, and everywhere if the sampler is unknown. Undefined if the
 * policy's own log-probs are not finite.
 */
export function ratiosOf(rollout: Rollout, logprobs: Float32Array): Float64Array | undefined {
  const { tokens, lossMask, behaviourLogprobs } = rollout
  if (!hasSampler(rollout)) return new Float64Array(tokens.length).fill(1)
  const ratios = Float64Array.from(tokens, (_, t) => {
    if (lossMask?.[t] === 0) return 1
    const gap = logprobs[t]! - behaviourLogprobs![t]!
    return Math.exp(Math.max(-MAX_NATS, Math.min(MAX_NATS, gap)))
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
  // V and v of the next token; both 0 at the end.
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
