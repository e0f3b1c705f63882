// The contract of a mixing rule, which combines own and foreign gradients into one update of the weights. A
// rule works on gradient slots and norms. It sees no rollouts, no loss and no engine's memory.

import type { OptimizerOptions, Slot, Trainer } from '../../../engine/engine.ts'
import type { Measured } from '../../watch.ts'

/** What computing the gradient of one author's part has shown. */
export interface PartReport extends Measured {
  /** Undefined for this node's own part. */
  author?: string
  groups: number
  /** Terms in the mean that its gradient is of: trained tokens, or answers, as the aggregation counts. */
  count: number
  /** 2-norm of the mean gradient over its rows. */
  gradientNorm: number
  /** The first parameter whose gradient was not finite, or `loss`. */
  nonFinite?: string
  /** Factor on its mean gradient in the step, where the own one has 1; 0 if it was left out. */
  scale: number
  /** The factor that the rule would give it at its author's full weight. */
  wouldScale: number
  /**
   * Component of its unscaled gradient along the compass, the running mean of own gradients, in the
   * optimizer's metric. Absent while there is no compass.
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
  /** Its terms in the mean: trained tokens, or answers, as the aggregation counts. */
  count: number
  /**
   * Computes the gradient of the mean over the part's rows into a slot. The rule sets the report's scales,
   * which are 0 at first.
   */
  gradient(into: Slot): Promise<PartReport>
}

/** An own part as it usually is: means over recent updates. */
export type UsualPart = Pick<PartReport, 'gradientNorm' | 'count'>

export interface MixingOptions {
  optimizer: OptimizerOptions
  /** False if foreign gradients are only measured. */
  learnForeign: boolean
  /** Norm limit of an author's gradient, relative to the own one. Read by the side step. */
  allowance(author: string): number
  /** Weight of an author's gradient, 0 to 1. Read by the side step. */
  weight(author: string): number
  /**
   * Weight of an author's groups in a common batch, 0 to 1; undefined for a newcomer. With the report of the author's
   * gradient in this batch it also counts what that gradient's tokens look like, before they have had any effect.
   */
  standing(author: string, report?: PartReport): number | undefined
  /** Undefined before the first update with own groups. */
  usual?: UsualPart | undefined
}

export interface StepDone {
  /** Set if a gradient was not finite; the weights are then unchanged. */
  nonFinite?: string
  /** 2-norm of the optimizer's gradient before clipping. */
  gradientNorm: number
  parts: PartReport[]
}

export type MixingTrainer = Pick<Trainer, 'slots' | 'combine' | 'dot' | 'norm' | 'step' | 'move'>

export interface MixingRule {
  /** One line for the documentation of the config. */
  readonly summary: string
  /** Whether it can make a step of foreign groups only. */
  readonly stepsWithoutOwn: boolean
  /** `own` is undefined only if the rule steps without it. */
  mix(
    parts: { own: Part | undefined; foreign: readonly Part[] },
    options: MixingOptions,
    trainer: MixingTrainer,
  ): Promise<StepDone>
}
