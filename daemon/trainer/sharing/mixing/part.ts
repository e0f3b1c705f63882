// One author's share of an optimizer step, and what is known of it once its gradient is computed.

import type { Trainer, VectorName } from '../../../engine/engine.ts'
import type { Measured } from '../../watch.ts'

/** The results of computing one author's gradient. */
export interface PartReport extends Measured {
  /** Undefined for this node's own part. */
  author?: string
  groups: number
  /** Number of terms in the mean gradient: trained tokens, or answers, depending on the aggregation. */
  count: number
  /** 2-norm of the mean gradient over its rows. */
  gradientNorm: number
  /** The first parameter with a gradient that is not finite, or `loss`. */
  nonFinite?: string
  /** Factor on its mean gradient in the step, where the own gradient has 1; 0 if it was left out. */
  scale: number
  /** The factor that it would have at its author's full weight. */
  wouldScale: number
  /**
   * Component of its unscaled gradient along the running mean of own gradients, in the optimizer's metric.
   * Absent while there is no mean.
   */
  alongOwn?: number
  /**
   * Component of its gradient along the running mean of foreign steps, in the unit of `alongOwn`. For an own
   * gradient it measures what those steps contributed, on rollouts that were not used for them. Absent before
   * the first foreign step.
   */
  alongForeign?: number
  /** Why it was left out. */
  leftOut?: 'not finite' | 'effective sample size'
}

/** One author's share of an optimizer step. */
export interface Part {
  /** Undefined for this node's own part. */
  author?: string
  /** Number of terms in its mean: trained tokens, or answers, depending on the aggregation. */
  count: number
  /** Computes the mean gradient over the part's rows into a vector. The report's scales are 0; the step sets them. */
  gradient(into: VectorName): Promise<PartReport>
}

/** The usual own part: means over recent updates. */
export type MeanOwnPart = Pick<PartReport, 'gradientNorm' | 'count'>

export type MixingTrainer = Pick<Trainer, 'vectors' | 'combine' | 'dot' | 'norm' | 'step'>
