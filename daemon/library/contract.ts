// The interface of the library: a model that samples, scores and learns. Everything is data: token ids, log-probs,
// numbers. Nothing here reads a config, opens a socket or starts a loop.

import type { Expression } from '../../protocol/plugin/expression.ts'
import type { Finish } from '../../protocol/train/index.ts'

/** One message of a conversation. */
export interface Message {
  role: string
  content: string
}

/**
 * What the model continues: a question, which the model's chat template turns into tokens as in training; a conversation,
 * up to where the next answer begins; or token ids as they are.
 */
export type Prompt = string | readonly Message[] | Int32Array

/** LoRA (Hu et al. 2021): the weights are frozen, and low-rank matrices beside them are trained. */
export interface Adapter {
  /** Columns of the low-rank matrices. Default: 16. */
  rank?: number
  /** The adapter is scaled by alpha / rank. Default: 32. */
  alpha?: number
  /** Matrices of each layer that have an adapter, such as `q_proj`. Default: all seven. */
  targets?: readonly string[]
}

export interface OpenOptions {
  /** Decides an adapter's initial values. An integer of 32 bits. Default: 0. */
  seed?: number
  /** Trains an adapter; `true` means its defaults. Without it, all weights are trained. */
  adapter?: Adapter | boolean
  /** Continues from the newest checkpoint in this folder, if there is one: weights, optimizer, version. */
  resume?: string
  /** `auto` (the default) takes the fastest device that works; see docs/devices.md. */
  device?: string
  /** CPU threads. Default: one for each core. */
  threads?: number
  /** Base of a relative path. Default: the working directory. */
  base?: string
  /** Called while the model is downloaded. */
  onDownload?(progress: { done: number; total: number }): void
  /** Called when the engine tells something, such as that a device failed and another took its place. */
  onNotice?(message: string): void
}

export interface ModelFacts {
  /** `default`, the path, or the name on the hub. */
  name: string
  /** Of the weights without an adapter. */
  parameters: number
  /** Of those that are trained. */
  trained: number
  /** Most tokens of prompt and completion together. */
  contextLength: number
  /** Token ids are 0 to vocabulary - 1. */
  vocabulary: number
  /** Tokens that end a completion. */
  stopTokens: readonly number[]
  /** Such as `onnx on cpu`. */
  engine: string
  /** SHA-256 of the weights that training began with, 64 hex digits. */
  lineage: string
}

/** The distribution that tokens are drawn from. */
export interface SampleOptions {
  /** The same seed gives the same samples from the same weights. An integer of 32 bits. */
  seed: number
  /** Samples for each prompt. Default: 1. */
  count?: number
  /** Default: 96. */
  maxNewTokens?: number
  /** 1, the default, samples from the policy itself; 0 takes the most likely token. */
  temperature?: number
  /** Draw from this many of the most likely tokens only. */
  topK?: number
  /** Draw from the most likely tokens that together have this probability only. */
  topP?: number
  /** Draw only from tokens at least this many times as likely as the most likely one. */
  minP?: number
  /** A sample ends with the token that completes any of these. */
  stop?: readonly string[]
  /** Ends all samples where they are. */
  signal?: AbortSignal
  /** Called for each token as it is drawn: the number of its prompt, of its sample, and its id. */
  onToken?(prompt: number, sample: number, token: number): void
}

/** A completion. All arrays have shape [tokens]. */
export interface Sample {
  /** Token ids that the model saw before, shape [prompt tokens]. */
  prompt: Int32Array
  /** Token ids, the end-of-sequence token included if it was drawn. */
  tokens: Int32Array
  /** Without special tokens. */
  text: string
  /** Natural log of the probability with which each token was drawn: temperature and filters included. */
  logprobs: Float32Array
  /** The same under the policy itself: temperature 1, no filter. */
  policyLogprobs: Float32Array
  /** Of that distribution, in nats. */
  entropies: Float32Array
  /** `stop`: it ended by itself; `length`: at `maxNewTokens`; `aborted`: by `signal`. */
  finish: Finish
  /** Optimizer steps before it was drawn. */
  version: number
}

/** Tokens and what came before them; a `Sample` is one. */
export interface Sequence {
  /** Given, not scored; at least one token. */
  prompt: Int32Array
  /** Token ids, shape [tokens]. */
  tokens: Int32Array
}

/** Of a sequence's tokens; each array has shape [tokens]. */
export interface Scores {
  /** Natural log of each token's probability at temperature 1. */
  logprobs: Float32Array
  /** Of the distribution at each token, in nats. */
  entropies: Float32Array
}

/** A sequence to learn from, with the columns that the objective reads. */
export interface Row extends Sequence {
  /**
   * By name: one value for each token, shape [tokens], or one for all. `mask` is 1 where it is left out; `proximal` is
   * the log-prob of the current weights without its gradient; `known` is 1 with `behaviour` and 0 without; `staleness`,
   * `foreign` and `replayed` are 0. Any other column that the objective reads must be here.
   */
  columns?: Readonly<Record<string, Float32Array | number>>
}

/** What is minimised: see `expression` and `objectiveOf`. */
export interface Objective {
  /** The loss of one token. It is averaged over the tokens inside the mask. */
  loss: Expression
  /** Reported as means over the same tokens. */
  metrics?: Readonly<Record<string, Expression>>
  /** The policy is softmax(logits / temperature). Default: 1. */
  temperature?: number
}

/** One call of `accumulate`. */
export interface Gradient {
  /** Mean over this call's tokens. */
  loss: number
  /** 2-norm of this call's gradient, before clipping. */
  norm: number
  metrics: Record<string, number>
  /** Tokens inside the mask. */
  tokens: number
  /** Of computing. */
  seconds: number
  /** The first parameter whose gradient was not finite, or `loss`. This call then added nothing. */
  nonFinite?: string
}

/** AdamW (Loshchilov & Hutter 2019), with clipping by the global norm. */
export interface StepOptions {
  learningRate: number
  /** Default: 0.9. */
  beta1?: number
  /** Default: 0.99. */
  beta2?: number
  /** Default: 1e-8. */
  epsilon?: number
  /** Decoupled. Default: 0. */
  weightDecay?: number
  /** A longer gradient is scaled down to this 2-norm. Default: 1. */
  maxGradientNorm?: number
}

export interface Step {
  /** False if the gradient was not finite: then nothing was changed. */
  applied: boolean
  /** 2-norm of the accumulated gradient before clipping. */
  norm: number
  /** Optimizer steps so far. */
  version: number
  /** Tokens that the gradient is a mean over. */
  tokens: number
  seconds: number
}

export const EXPORT_TYPES = ['f32', 'bf16', 'f16', 'q8_0'] as const

export interface ExportOptions {
  /** Writes the adapter alone, in PEFT's format or as GGUF. Default: the whole model, with the adapter merged. */
  adapterOnly?: boolean
  /** How numbers are stored. Default: `f32`. Only GGUF has `q8_0`. */
  type?: (typeof EXPORT_TYPES)[number]
}

/**
 * A model in an engine. Calls are served one after another, in a thread of their own; a call that fails changes nothing.
 * Every method rejects with a `WaggleError` that says what to do.
 */
export interface Model {
  readonly facts: ModelFacts
  /** Optimizer steps so far. */
  readonly version: number
  /** The tokens of a prompt, shape [tokens]. */
  encode(prompt: Prompt): Int32Array
  /** Text without special tokens. */
  decode(tokens: Int32Array): string
  /** By prompt, then by sample. */
  sample(prompts: readonly Prompt[], options: SampleOptions): Promise<Sample[][]>
  /** In the order of the sequences, which may be any number: they are cut into batches that fit the memory. */
  score(sequences: readonly Sequence[]): Promise<Scores[]>
  /** Adds to the gradient: after any number of calls it is the mean over the tokens of all of them. */
  accumulate(rows: readonly Row[], objective: Objective): Promise<Gradient>
  /** Forgets the accumulated gradient. */
  discard(): void
  /** One optimizer step along the accumulated gradient, which is then forgotten. */
  step(options: StepOptions): Promise<Step>
  /** Adds a checkpoint to the folder: weights, optimizer, version. The newest three are kept. Resolves to its path. */
  save(folder: string): Promise<string>
  /**
   * Writes the model for other programs: to a folder in Hugging Face's layout, or to a file whose name ends in `.gguf`.
   * Overwrites earlier files of those names.
   */
  export(target: string, options?: ExportOptions): Promise<void>
  close(): Promise<void>
}
