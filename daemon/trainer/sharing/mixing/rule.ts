// The contract of a mixing rule, which combines own and foreign gradients into one update of the weights. A
// rule works on gradient slots and norms. It sees no rollouts, no loss and no engine's memory.

import type { OptimizerOptions, Slot, Trainer } from '../../../engine/engine.ts'
import type { PartReport } from '../../step.ts'

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
  /** Weight of an author's groups in a common batch, 0 to 1; undefined for a newcomer. */
  standing(author: string): number | undefined
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
