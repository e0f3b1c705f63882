// The result of a device's trial, and the tolerated differences from the CPU.

import type { Precision } from '../onnx/loss-scale.ts'

export interface TrialReport {
  /** Largest differences from the CPU: absolute for a product's elements, relative for losses and gradient norms. */
  product: number
  training: number
  /** Training speed as a multiple of the CPU's, if it was measured. */
  speed?: number
}

/** Providers may sum in a different order, and some drivers compute with fewer bits than float32 has. */
const AGREEMENT = { product: 1e-3, training: 1e-3 }

/** Float16 has 11 significant bits, and some devices also sum in it. */
const HALF_AGREEMENT = { product: 3e-2, training: 3e-2 }

/** A difference that is NaN is not accepted. */
export function agrees({ product, training }: TrialReport, precision: Precision = 'float32'): boolean {
  const within = precision === 'float16' ? HALF_AGREEMENT : AGREEMENT
  return product < within.product && training < within.training
}
