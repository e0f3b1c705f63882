// The contract of a compute engine: it holds one policy's weights and can sample from it, score with it and train it.
//
// An engine knows tensors and token ids. It knows no text, no task, no advantage estimator and no peer. Calls are
// served one after another; an engine works in a thread of its own, so that its caller's event loop stays free.

import type { Expression } from '../../protocol/plugin/expression.ts'
import type { Finish, Segment } from '../../protocol/train/index.ts'
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
  /** Of these weights; what is sampled from them carries it. 0 if left out. */
  version?: number
  /** The text that each token id stands for by itself. Without it there are no stop strings. */
  pieces?: readonly string[]
}

export interface OptimizerState {
  steps: number
  first: Weights
  second: Weights
  /** Of an engine that computes gradients in float16. */
  lossScale?: LossScale
}

export interface LossScale {
  /** What the loss is multiplied with for the backward pass; a power of two. */
  scale: number
  /** Gradients since it last changed, none of which overflowed. */
  good: number
}

export interface SampleRequest {
  /** Token ids to continue; never empty. */
  prompt: Int32Array
  /** Unsigned 32-bit. The same seed gives the same tokens from the same weights. */
  seed: number
  /** Tokens at the prompt's end that this sequence has drawn before: it goes on with its own random numbers. */
  drawn?: number
  /** Where this sequence may have fewer than the request's. */
  maxNewTokens?: number
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
  /** Sampling ends with the token that completes any of these in the sequence's text, prompt excluded. */
  stopStrings?: readonly string[]
  /** Sequences decoded side by side. */
  slots?: number
}

/** A token as it is drawn: which of the request's samples it belongs to, and its id. */
export interface DrawnToken {
  sample: number
  token: number
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
  /** Of the weights that wrote it, or its first token. */
  version: number
  /** Where weights were taken on while it was written: which version wrote which of its tokens. */
  segments?: Segment[]
}

export interface ScoreRequest {
  sequences: readonly { conditioning: Int32Array; completion: Int32Array }[]
  /** Log-probs are of softmax(logits / temperature). */
  temperature: number
  /** Hidden states are wanted too: tokens x width x 4 bytes of them. */
  hidden?: boolean
}

/** One value a token of the completion each. */
export interface Score {
  logprobs: Float32Array
  /** Nats. */
  entropies: Float32Array
  /** Chance that two draws agree: the sum of squared probabilities over the vocabulary. */
  collisions: Float32Array
  /**
   * Where it was asked for, what the output layer reads to predict each token: the final norm's output at the token before
   * it, [tokens, width] row by row.
   */
  hidden?: Float32Array
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
  /** Times that the batch was computed again at half the loss scale, where gradients are in float16. */
  overflows?: number
  seconds: number
}

/** As in a TrainRequest, without the step. */
export type GradientRequest = Omit<TrainRequest, 'optimizer'>

export interface GradientReport extends Omit<TrainReport, 'applied'> {
  /**
   * How far the gradient goes the compass's way: their inner product over the compass's norm, both in the optimizer's
   * metric (each element divided by the root of its second moment, as a step divides it). Absent while there is no
   * compass.
   */
  along?: number
  /**
   * How far it goes the way of the side steps that were taken, a running mean as the compass is: as if they had had their
   * full weight (`sideShare`), and in the unit of `along`. Of a main gradient: what these steps still bring after they were taken, by
   * samples that had no part in them. Absent while there were none.
   */
  aside?: number
}

export interface DescentRequest {
  optimizer: TrainRequest['optimizer']
  /** The side's step is made no longer than so many times the main sum, both in the optimizer's metric. */
  sideLimit: number
  /** What the side has of the weight that it is to be compared at, 0 to 1; 1 if left out. */
  sideShare?: number
  /** Share of itself that the compass keeps when the main gradient is mixed in, 0 to 1. */
  compassDecay: number
}

export interface DescentReport {
  /** False when the gradient was not finite: then nothing was changed. */
  applied: boolean
  nonFinite?: string
  /** 2-norms of the sums before clipping. */
  mainNorm: number
  sideNorm: number
  /** What the side's sum was multiplied with to keep to the limit; 0 if it was not finite and left out. */
  sideScale: number
  seconds: number
}

/** Ends single sequences of a running `generate`; see `createControl` in control.ts. */
export interface Control {
  /**
   * These samples of the request end where they are, as aborted, with what they wrote; the others go on as if nothing
   * had happened. Those that have ended already, or that the request has not, are passed over.
   */
  cut(samples: readonly number[]): void
  /** For engines: told of every cut, those made before included, until the function that it gives is called. */
  listen(onCut: (samples: readonly number[]) => void): () => void
}

export interface GenerateOptions {
  /** Ends all sequences. */
  signal?: AbortSignal
  control?: Control
  /** Told tokens as they are drawn, by engines that can; all are in the samples in the end. */
  onToken?: (drawn: DrawnToken) => void
  /** Told each sequence once, as it ends: its index in the request, and what the call gives for it. */
  onFinish?: (sample: number, written: Sample) => void
}

export interface Engine {
  readonly info: EngineInfo
  open(request: OpenRequest): Promise<void>
  generate(request: GenerateRequest, options?: GenerateOptions): Promise<Sample[]>
  score(request: ScoreRequest): Promise<Score[]>
  /** One optimizer step over all the sequences. */
  train(request: TrainRequest): Promise<TrainReport>
  /** The gradient of a batch, held until `keep` or the next call. Changes no weight. */
  gradient(request: GradientRequest): Promise<GradientReport>
  /** Adds the held gradient, times `scale`, to one of two sums. */
  keep(request: { to: 'main' | 'side'; scale: number }): Promise<void>
  /**
   * One optimizer step along the main sum, the same as if there were no side, and then one along the bounded side sum; both
   * are empty after it. The main sum turns the compass: a running mean of main gradients, kept until the next `open`, that
   * gradients are compared with. What of the side goes against it is taken out. See side-step.ts.
   */
  descend(request: DescentRequest): Promise<DescentReport>
  /** A copy of the weights as they are now. */
  weights(): Promise<Weights>
  /**
   * `version` is what tokens written from now on carry; the same as before if left out. Served in turn as other calls are;
   * in flight, a `generate` that runs takes them on between two steps, and keeps the keys and values that it has.
   */
  setWeights(weights: Weights, version?: number, options?: { isInFlight?: boolean }): Promise<void>
  optimizer(): Promise<OptimizerState>
  close(): Promise<void>
}
