// Weights, and the state of the optimizer that goes with them.

export type Weights = Record<string, Float32Array>

export interface LossScale {
  /** The loss is multiplied by this for the backward pass; a power of two. */
  scale: number
  /** Number of gradients without overflow since the scale last changed. */
  good: number
}

export interface OptimizerState {
  steps: number
  first: Weights
  second: Weights
  /** Only for an engine that computes gradients in float16. */
  lossScale?: LossScale
}
