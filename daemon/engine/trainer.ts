// The contract of a trainer: it scores sequences, computes gradients into named vectors, does algebra on
// them, and steps the weights along one of them. The caller decides how gradients are mixed.

import type { Expression } from '../../protocol/plugin/expression/expression.ts'
import type { EngineInfo, OpenRequest } from './opening.ts'
import type { TopTokens } from './top-tokens.ts'
import type { OptimizerState, Weights } from './weights.ts'

export type { TopTokens } from './top-tokens.ts'

/** Called with the share that is done, 0 to 1, from time to time. */
export interface WithProgress {
  onProgress?: ((share: number) => void) | undefined
}

export interface ScoreRequest extends WithProgress {
  sequences: readonly { conditioning: Int32Array; completion: Int32Array }[]
  /** Log-probs are those of softmax(logits / temperature). */
  temperature: number
  /** Also return hidden states: tokens x width x 4 bytes. */
  hidden?: boolean
  /** Also return where each token stands among the others. */
  pit?: boolean
  /** Also return so many of the likeliest tokens at each place, at most the whole vocabulary. */
  top?: number
}

/** Each array has one value per completion token. */
export interface Score {
  logprobs: Float32Array
  /** Nats. */
  entropies: Float32Array
  /** Probability that two draws agree: the sum of squared probabilities over the vocabulary. */
  collisions: Float32Array
  /**
   * If requested, the input of the output layer that predicts each token, i.e. the final norm's output at the token
   * before it: [tokens, width], row by row.
   */
  hidden?: Float32Array
  /** If `places` was requested. */
  pit?: PitBounds
  /** If `top` was requested. */
  top?: TopTokens
}

/** Where tokens stand when all tokens are ordered by probability at `temperature`. */
interface PitBounds {
  /** Probability of all tokens that are more likely than this one. */
  above: Float32Array
  /** Probability of all tokens that are exactly as likely as this one, itself included. */
  ties: Float32Array
}

/** The columns of an objective that hold these. They are computed if the objective reads them, and have no gradient. */
export const PLACES = ['above', 'ties'] as const

/**
 * The column of an objective that holds the divergence of this policy from its teacher at each token, in nats: reverse KL
 * over the teacher's likeliest tokens and the rest, K + 1 categories. It is computed, with its gradient, if the objective
 * reads it. Where a sequence has no teacher it means nothing.
 */
export const DIVERGENCE = 'divergence'

/** The loss as a formula; see protocol/plugin/expression/expression.ts. */
export interface Objective {
  /** Loss of each token, before masking and normalising. */
  loss: Expression
  /** Logged as means over the batch's masked tokens. */
  metrics: Record<string, Expression>
}

export interface TrainSequence {
  conditioning: Int32Array
  completion: Int32Array
  /** Values of the columns that the objective reads: one per completion token, or one for the whole completion. */
  columns: Record<string, Float32Array | number>
  /** What a teacher says about the completion. `count` is the same in all sequences of a batch that have one. */
  teacher?: TopTokens
}

/** AdamW (Loshchilov & Hutter 2019), with clipping by the global norm. */
export interface OptimizerOptions {
  learningRate: number
  beta1: number
  beta2: number
  epsilon: number
  weightDecay: number
  /** Gradients with a larger global 2-norm are scaled down to this. */
  maxGradientNorm: number
}

/** A node's settings. There is no good default for the learning rate. */
export const ADAMW = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, maxGradientNorm: 1 } as const

export interface TrainRequest extends WithProgress {
  sequences: readonly TrainSequence[]
  objective: Objective
  temperature: number
  /** The summed loss is divided by this. The number of masked tokens gives a mean over tokens. */
  denominator: number
  optimizer: OptimizerOptions
}

export interface TrainReport {
  /** False if a loss or a gradient was not finite. Then nothing was changed. */
  applied: boolean
  /** The first parameter whose gradient was not finite, or `loss`. */
  nonFinite?: string
  loss: number
  /** Global 2-norm before clipping. */
  gradientNorm: number
  metrics: Record<string, number>
  /** Completion tokens inside the mask, all real tokens, and all computed tokens including padding. */
  completionTokens: number
  realTokens: number
  computedTokens: number
  microBatches: number
  /** With float16 gradients: how many times the batch was computed again at half the loss scale. */
  overflows?: number
  seconds: number
}

/** A TrainRequest without the optimizer step. The gradient overwrites vector `into`. */
export interface GradientRequest extends Omit<TrainRequest, 'optimizer'> {
  into: VectorName
}

export type GradientReport = Omit<TrainReport, 'applied'>

/** Names a vector with the gradient's shape, which is kept until the next `open`. Reading one that was never written is an error. */
export type VectorName = string

/** The vector that `train` uses. A caller that puts its own gradient there saves the memory of another one. */
export const GRADIENT: VectorName = 'gradient'

/**
 * Measures a vector the way an AdamW step measures a gradient: x becomes x / (√v̂ + epsilon), where v̂ are the trainer's
 * bias-corrected second moments.
 */
export interface Metric {
  beta2: number
  epsilon: number
}

interface StepReport {
  /** False if the vector was not finite. Then nothing was changed. */
  applied: boolean
  /** The first parameter whose part of the vector was not finite. */
  nonFinite?: string
  /** Global 2-norm before clipping. */
  norm: number
  seconds: number
}

/** Log-probs of given completions under the weights. */
export type Scorer = Pick<Trainer, 'score'>

export interface Trainer {
  readonly info: EngineInfo
  open(request: OpenRequest): Promise<void>
  score(request: ScoreRequest): Promise<Score[]>
  /** One optimizer step on all the sequences together. */
  train(request: TrainRequest): Promise<TrainReport>
  /** Computes a gradient without changing any weight. */
  gradient(request: GradientRequest): Promise<GradientReport>
  /** Names of the vectors that were written. */
  vectors(): Promise<VectorName[]>
  /** into = Σ factor · vector. `into` may be among the terms. A term whose factor is 0 is not read. */
  combine(request: {
    into: VectorName
    terms: readonly { vector: VectorName; factor: number }[]
  }): Promise<void>
  /** Σ a · b, with b measured if a metric is given. */
  dot(request: { a: VectorName; b: VectorName; metric?: Metric }): Promise<number>
  /** 2-norm of the vector. */
  norm(request: { vector: VectorName }): Promise<number>
  /** One optimizer step along the vector, as if it held a batch's gradient. */
  step(request: { along: VectorName; optimizer: OptimizerOptions }): Promise<StepReport>
  /** A copy of the current weights. */
  weights(): Promise<Weights>
  setWeights(weights: Weights): Promise<void>
  optimizer(): Promise<OptimizerState>
  close(): Promise<void>
}
