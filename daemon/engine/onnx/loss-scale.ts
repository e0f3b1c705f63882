// Dynamic loss scaling (Micikevicius et al. 2018, arXiv:1710.03740): a loss times a power of two keeps small
// gradients from vanishing in float16. The gradients are then divided by it, which is exact. If a gradient
// overflows, the scale is halved; after a number of gradients without overflow, it is doubled. The constants are
// those of PyTorch's `GradScaler`. Unlike there, a batch whose gradient overflowed is computed again at half the
// scale instead of skipped.

import type { LossScale } from '../engine.ts'

export const INITIAL: LossScale = { scale: 2 ** 16, good: 0 }
const GROWTH_INTERVAL = 2000
/** The reciprocal is still a normal number in single precision, and so is the loss. */
const LARGEST = 2 ** 24

export type Precision = 'float32' | 'float16'

export interface Scaling {
  state: LossScale
}

/** Computes a gradient at the scale that fits it. One that is not finite at any is not the scale's fault. */
export async function scaled<Report extends { nonFinite?: string }>(
  scaling: Scaling,
  compute: (scale: number) => Promise<Report>,
): Promise<Report & { overflows: number }> {
  const before = scaling.state
  for (let scale = before.scale, overflows = 0; ; scale /= 2, overflows += 1) {
    const report = await compute(scale)
    const fits = report.nonFinite === undefined
    if (fits) {
      const good = (overflows === 0 ? before.good : 0) + 1
      scaling.state =
        good < GROWTH_INTERVAL ? { scale, good } : { scale: Math.min(LARGEST, scale * 2), good: 0 }
    }
    // The loss does not depend on the backward pass.
    if (fits || report.nonFinite === 'loss' || scale <= 1) return { ...report, overflows }
  }
}
