// Clips gradient spikes: a z-score above the running mean of the norm is the limit, in addition to the fixed bound
// (ZClip, Kumar et al. 2025). The threshold is 4 instead of 2.5, because gradients of small batches have longer tails.

import { createRunning } from './running.ts'

const Z = 4
const FADE = 0.97
/** Steps before the deviation is reliable. */
const WARM_UP = 12
/** Lower bound on the deviation, as a share of the mean. */
const MIN_SPREAD = 0.1
/**
 * Norms are clipped but not reported if the cut is below this share of the norm. AdamW takes a tenth of a gradient into
 * its mean, so a cut by a tenth changes a step by a hundredth. Norms just above the limit occur in the tail of any run.
 */
const MIN_TOLD = 0.1

interface NormGuard {
  /** Norm limit for the next step; infinite during warm-up. */
  limit(): number
  /** True if the cut was large enough to report. */
  observe(norm: number): boolean
}

export function createNormGuard(): NormGuard {
  const running = createRunning(FADE)
  const limit = (): number =>
    running.count < WARM_UP
      ? Number.POSITIVE_INFINITY
      : running.mean + Z * Math.max(running.deviation, MIN_SPREAD * running.mean)
  return {
    limit,
    observe(norm) {
      const bound = limit()
      // Adds the clipped norm, so that repeated spikes cannot raise the limit quickly.
      running.add(Math.min(norm, bound))
      return norm - bound >= MIN_TOLD * norm
    },
  }
}
