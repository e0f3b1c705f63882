// The contract of a mixing rule, which combines own and foreign gradients into one update of the weights. A
// rule works on gradient slots and norms. It sees no rollouts, no loss and no engine's memory.

import type { OptimizerOptions, Slot, Trainer } from '../../../engine/engine.ts'
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
   * Component of its unscaled gradient along the compass, the running mean of own gradients, in the optimizer's metric.
   * Absent while there is no compass.
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
  /** Computes the mean gradient over the part's rows into a slot. The report's scales are 0; the rule sets them. */
  gradient(into: Slot): Promise<PartReport>
}

/** The usual own part: means over recent updates. */
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
   * Weight of an author's groups in a common batch, 0 to 1; undefined for a newcomer. Given the report of the author's
   * gradient in this batch, it also takes that gradient's tokens into account, before they have had any effect.
   */
  standing(author: string, report?: PartReport): number | undefined
  /** Undefined before the first update with own groups. */
  usual?: UsualPart | undefined
}

export interface StepDone {
  /** Name of what was not finite; the weights are then unchanged. Absent if all gradients were finite. */
  nonFinite?: string
  /** 2-norm of the optimizer's gradient before clipping. */
  gradientNorm: number
  parts: PartReport[]
}

export type MixingTrainer = Pick<Trainer, 'slots' | 'combine' | 'dot' | 'norm' | 'step' | 'move'>

export interface MixingRule {
  /** One line for the documentation of the config. */
  readonly summary: string
  /** Whether the rule can make a step of foreign groups only. */
  readonly stepsWithoutOwn: boolean
  /** Makes one step. `own` is undefined only if the rule can step without it. */
  mix(
    parts: { own: Part | undefined; foreign: readonly Part[] },
    options: MixingOptions,
    trainer: MixingTrainer,
  ): Promise<StepDone>
}
