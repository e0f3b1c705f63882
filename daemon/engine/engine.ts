// The contract of a compute engine: it holds one policy's weights and can sample from it, score with it and train it.
//
// An engine knows tensors and token ids. It knows no text, no task, no advantage estimator and no peer. Calls are
// served one after another; an engine works in a thread of its own, so that its caller's event loop stays free.

import type { Expression } from '../../protocol/plugin/expression.ts'
import type { Finish } from '../../protocol/train/index.ts'
import type { DecoderSpec, Weights } from './decoder.ts'

export interface EngineInfo {
  kind: string
  device: string
  /** Why this device was chosen, in words. */
  reason: string
  threads: number
}

export interface OpenRequest {
  spec: DecoderSpec
  weights: Weights
  /** First and second moments of AdamW, with the number of steps they have seen. Zero when absent. */
  optimizer?: OptimizerState
}

export interface OptimizerState {
  steps: number
  first: Weights
  second: Weights
}

export interface SampleRequest {
  /** Token ids to continue; never empty. */
  prompt: Int32Array
  /** Unsigned 32-bit. The same seed gives the same tokens from the same weights. */
  seed: number
  /** Tokens at the prompt's end that this sequence has drawn before: it goes on with its own random numbers. */
  drawn?: number
}

/** The distribution that tokens are drawn from; see draw.ts for the order. */
export interface Sampling {
  /** 1 samples from the policy itself; 0 takes the most likely token. */
  temperature: number
  /** Only the so many most likely tokens. */
  topK?: number
  /** Only the most likely tokens that together have this share of the probability. */
  topP?: number
  /** Only tokens at least this many times as likely as the most likely one. */
  minP?: number
}

export interface GenerateRequest extends Sampling {
  samples: readonly SampleRequest[]
  maxNewTokens: number
  /** Sampling ends after any of these, which is kept as the last token. */
  stopTokens: readonly number[]
  /** Sequences decoded side by side. */
  slots?: number
}

export interface Sample {
  tokens: Int32Array
  /** Log-prob of each token under the distribution it was drawn from. */
  logprobs: Float32Array
  /** Log-prob of each token under the policy itself: temperature 1, nothing cut. */
  policyLogprobs: Float32Array
  /** Entropy of that distribution, nats. */
  entropies: Float32Array
  finish: Finish
}

export interface ScoreRequest {
  sequences: readonly { conditioning: Int32Array; completion: Int32Array }[]
  /** Log-probs are of softmax(logits / temperature). */
  temperature: number
}

export interface Score {
  logprobs: Float32Array
  entropies: Float32Array
}

/** The loss as a formula; see protocol/plugin/expression.ts. */
export interface Objective {
  /** Per-token loss, before masking and normalising. */
  loss: Expression
  /** Logged as means over the batch's masked tokens. */
  metrics: Record<string, Expression>
}

export interface TrainSequence {
  conditioning: Int32Array
  completion: Int32Array
  /** Values of the columns that the objective reads, one per completion token, or one for all of them. */
  columns: Record<string, Float32Array | number>
}

export interface TrainRequest {
  sequences: readonly TrainSequence[]
  objective: Objective
  temperature: number
  /** The summed loss is divided by this; the number of masked tokens gives a token mean. */
  denominator: number
  optimizer: {
    learningRate: number
    beta1: number
    beta2: number
    epsilon: number
    weightDecay: number
    /** Gradients are scaled down to this global 2-norm. */
    maxGradientNorm: number
  }
}

export interface TrainReport {
  /** False when a loss or gradient was not finite: then nothing was changed. */
  applied: boolean
  /** First parameter in order whose gradient was not finite, or `loss`. */
  nonFinite?: string
  loss: number
  /** Global 2-norm before clipping. */
  gradientNorm: number
  metrics: Record<string, number>
  /** Masked completion tokens, all real tokens, and tokens with padding that were computed. */
  completionTokens: number
  realTokens: number
  computedTokens: number
  microBatches: number
  seconds: number
}

export interface Engine {
  readonly info: EngineInfo
  open(request: OpenRequest): Promise<void>
  generate(request: GenerateRequest, options?: { signal?: AbortSignal }): Promise<Sample[]>
  score(request: ScoreRequest): Promise<Score[]>
  /** One optimizer step over all the sequences. */
  train(request: TrainRequest): Promise<TrainReport>
  /** A copy of the weights as they are now. */
  weights(): Promise<Weights>
  setWeights(weights: Weights): Promise<void>
  optimizer(): Promise<OptimizerState>
  close(): Promise<void>
}
