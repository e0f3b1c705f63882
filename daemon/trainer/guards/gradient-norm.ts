// Gradient spikes are cut to what is usual: a z-score on the norm's running mean instead of a fixed bound alone (ZClip,
// Kumar et al. 2025, with its threshold of 4 rounded up from 2.5 as gradients of small batches have longer tails).

import { createRunning } from './running.ts'

const Z = 4
const FADE = 0.97
/** Steps before the spread is known well enough. */
const WARM_UP = 12
/** Of the mean: a spread below this is chance. */
const LEAST_SPREAD = 0.1
/**
 * Of the norm: a smaller cut is made and not told. AdamW takes a tenth of a gradient into its mean, so that a tenth less
 * of it moves a step by a hundredth, and norms just above the limit are what the tail of any run has.
 */
const LEAST_TOLD = 0.1

export interface NormGuard {
  /** The largest norm that the next step may have; infinite until enough is known. */
  limit(): number
  /** True if the norm was so far above the limit that what was cut off matters. */
  observe(norm: number): boolean
}

export function createNormGuard(): NormGuard {
  const running = createRunning(FADE)
  const limit = (): number =>
    running.count < WARM_UP
      ? Number.POSITIVE_INFINITY
      : running.mean + Z * Math.max(running.deviation, LEAST_SPREAD * running.mean)
  return {
    limit,
    observe(norm) {
      const bound = limit()
      // A spike moves the mean by what it was cut to, so that spike after spike cannot raise the limit quickly.
      running.add(Math.min(norm, bound))
      return norm - bound >= LEAST_TOLD * norm
    },
  }
}
