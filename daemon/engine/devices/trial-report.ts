// What the trial of a device finds, and what of it will do.

export interface TrialReport {
  /** Largest differences from the CPU: of a product's elements; of losses and gradient norms, relative. */
  product: number
  training: number
  /** How many times as fast as the CPU it trained, if that was measured. */
  speed?: number
}

/** Providers may sum in another order, and some drivers compute with fewer bits than float32 has. */
export const AGREEMENT = { product: 1e-3, training: 1e-3 }

/** NaN agrees with nothing. */
export function agrees({ product, training }: TrialReport): boolean {
  return product < AGREEMENT.product && training < AGREEMENT.training
}
