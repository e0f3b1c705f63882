// What the trial of a device finds, and what of it will do.

import type { Precision } from '../onnx/loss-scale.ts'

export interface TrialReport {
  /** Largest differences from the CPU: of a product's elements; of losses and gradient norms, relative. */
  product: number
  training: number
  /** How many times as fast as the CPU it trained, if that was measured. */
  speed?: number
}

/** Providers may sum in another order, and some drivers compute with fewer bits than float32 has. */
export const AGREEMENT = { product: 1e-3, training: 1e-3 }

/** Float16 has 11 bits, and some devices sum in it, too. */
export const HALF_AGREEMENT = { product: 3e-2, training: 3e-2 }

/** NaN agrees with nothing. */
export function agrees({ product, training }: TrialReport, precision: Precision = 'float32'): boolean {
  const within = precision === 'float16' ? HALF_AGREEMENT : AGREEMENT
  return product < within.product && training < within.training
}
