// The contract of a mixing rule, which combines own and foreign gradients into one update of the weights. A
// rule works on gradient slots and norms. It sees no rollouts, no loss and no engine's memory.

import type { OptimizerOptions, Slot, Trainer } from '../../../engine/engine.ts'
import type { PartReport } from '../../step.ts'

/** One author's share of an optimizer step. */
export interface Part {
  /** Undefined for this node's own part. */
  author?: string
  /** Computes the part's gradient into a slot. The rule sets the report's scales, which are 0 at first. */
  gradient(into: Slot): Promise<PartReport>
}

export interface MixingOptions {
  optimizer: OptimizerOptions
  /** False if foreign gradients are only measured. */
  learnForeign: boolean
  /** Norm limit of an author's gradient, relative to the own one. */
  allowance(author: string): number
  /** Weight of an author's gradient, 0 to 1. */
  weight(author: string): number
}

export interface StepDone {
  /** Set if a gradient was not finite; the weights are then unchanged. */
  nonFinite?: string
  /** 2-norm of the optimizer's gradient before clipping. */
  gradientNorm: number
  parts: PartReport[]
}

export type MixingRule = (
  parts: { own: Part; foreign: readonly Part[] },
  options: MixingOptions,
  trainer: Pick<Trainer, 'slots' | 'combine' | 'dot' | 'norm' | 'step' | 'move'>,
) => Promise<StepDone>
