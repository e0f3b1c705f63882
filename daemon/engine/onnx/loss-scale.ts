// Dynamic loss scaling (Micikevicius et al. 2018, arXiv:1710.03740): the loss is multiplied by a power of two, so that
// small gradients do not vanish in float16. The gradients are then divided by it, which is exact. If a gradient
// overflows, the scale is halved; after a number of gradients without overflow, it is doubled. The constants are those
// of PyTorch's `GradScaler`. Unlike there, a batch whose gradient overflowed is not skipped but computed again at half
// the scale.

import type { LossScale } from '../engine.ts'

export const INITIAL: LossScale = { scale: 2 ** 16, good: 0 }
const GROWTH_INTERVAL = 2000
/** Up to here, both the loss and the reciprocal are normal numbers in single precision. */
const LARGEST = 2 ** 24

export type Precision = 'float32' | 'float16'

export interface Scaling {
  state: LossScale
}

/** Computes a gradient, halving the scale until it is finite, the loss is not, or the scale is 1 or less. */
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
    // A smaller scale cannot help if the loss is not finite, because the loss does not depend on the backward pass.
    if (fits || report.nonFinite === 'loss' || scale <= 1) return { ...report, overflows }
  }
}
