// The step that peers' gradients make beside the own one.
//
// Mixed into one AdamW, foreign gradients would take from the own step: its length is set by the second moments of the
// whole, so a foreign gradient at right angles to the own one and as long makes the own part 1 / sqrt(2) of what it was, and
// whoever sends noise slows a node down. Here the own gradient moves weights and moments as if there were nobody else.
// The side then moves the weights by itself: each element over the root of the own second moment, cut at the largest
// ratio that an own gradient can have there, 1 / sqrt(1 - beta2), so that nothing is moved far where own gradients are small; all of it no
// longer than the own gradient times a limit, in the same metric; and without what goes against the compass (the projection of
// A-GEM, Chaudhry et al. 2019, with a running mean of own gradients for its memory). It has no momentum: over many steps a
// mean moves as far without, though a single such step may be longer than the own one, which has momentum. Two sources of the
// same signal and independent noise go, at a limit of 1, twice as far with twice the variance, as a batch twice as large at twice the rate.

import type { TrainRequest } from './engine.ts'

/** How an AdamW step measures a gradient, once the step that is the `step`-th (from 1) has been taken. */
export interface Metric {
  /** Undoes the bias of the second moments' roots. */
  secondScale: number
  epsilon: number
  /** What the own gradient was multiplied with to clip it. */
  clip: number
  /** Elements are cut at this. */
  most: number
}

/** `norm` is the own gradient's 2-norm. */
export function metricOf(
  { beta2, epsilon, maxGradientNorm }: TrainRequest['optimizer'],
  step: number,
  norm: number,
): Metric {
  return {
    secondScale: 1 / Math.sqrt(1 - beta2 ** step),
    epsilon,
    clip: Math.min(1, maxGradientNorm / (norm + 1e-6)),
    most: 1 / Math.sqrt(1 - beta2),
  }
}
