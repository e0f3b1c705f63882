// The result of a device's trial, and the differences from the CPU that are accepted.

import type { Precision } from '../onnx/loss-scale.ts'

export interface TrialReport {
  /** Largest differences from the CPU: of a product's elements; of losses and gradient norms, relative. */
  product: number
  training: number
  /** Training speed as a multiple of the CPU's, if it was measured. */
  speed?: number
}

/** Providers may sum in another order, and some drivers compute with fewer bits than float32. */
export const AGREEMENT = { product: 1e-3, training: 1e-3 }

/** Float16 has 11 bits, and some devices sum in it, too. */
export const HALF_AGREEMENT = { product: 3e-2, training: 3e-2 }

/** A difference of NaN is not accepted. */
export function agrees({ product, training }: TrialReport, precision: Precision = 'float32'): boolean {
  const within = precision === 'float16' ? HALF_AGREEMENT : AGREEMENT
  return product < within.product && training < within.training
}
