// The interface of the library: a model that samples, scores and learns. Everything is data: token ids, log-probs,
// numbers. Nothing here reads a config, opens a socket or starts a loop.

import type { Expression } from '../../protocol/plugin/expression/expression.ts'
import type { Finish } from '../../protocol/train/index.ts'

/** One message of a conversation. */
export interface Message {
  role: string
  content: string
}

/**
 * The text that the model continues: a question, which the model's chat template turns into tokens as in training; a
 * conversation, up to where the next answer begins; or token ids, used as they are.
 */
export type Prompt = string | readonly Message[] | Int32Array

/** LoRA (Hu et al. 2021): the weights are frozen, and low-rank matrices added to them are trained. */
export interface Adapter {
  /** Rank of the added matrices. Default: 16. */
  rank?: number
  /** The adapter is scaled by alpha / rank. Default: 32. */
  alpha?: number
  /** Matrices of each layer that get an adapter, such as `q_proj`. Default: all seven. */
  targets?: readonly string[]
}

export interface OpenOptions {
  /**
   * Trains an adapter. `true` means the one of the checkpoint in `resume`, or else its defaults. Without it, what that
   * checkpoint trained is trained, or else all weights.
   */
  adapter?: Adapter | boolean
  /** Continues from the newest checkpoint in this folder, if there is one: its weights, optimizer and version. */
  resume?: string
  /** `auto` (the default) picks the fastest device that works; see docs/devices.md. */
  device?: string
  /** CPU threads. Default: one for each core. */
  threads?: number
  /** Folder that relative paths start from. Default: the working directory. */
  base?: string
  /** Called with the progress, in bytes, while the model is downloaded. */
  onDownload?(progress: { done: number; total: number }): void
  /** Called with messages from the engine, such as that a device failed and another replaced it. */
  onNotice?(message: string): void
}

export interface ModelFacts {
  /** `default`, the path, or the name on the hub. */
  name: string
  /** Number of parameters without an adapter. */
  parameters: number
  /** Number of trained parameters. */
  trained: number
  /** Maximum number of tokens of prompt and completion together. */
  contextLength: number
  /** Token ids are 0 to vocabulary - 1. */
  vocabulary: number
  /** Tokens that end a completion. */
  stopTokens: readonly number[]
  /** Engine and device, such as `onnx on cpu`. */
  engine: string
  /** SHA-256 of the weights that training started from, as 64 hex digits. */
  lineage: string
}

/** The distribution that tokens are drawn from. */
export interface SampleOptions {
  /** The same seed gives the same samples from the same weights. A 32-bit integer. */
  seed: number
  /** Number of samples per prompt. Default: 1. */
  count?: number
  /** Default: 96. */
  maxNewTokens?: number
  /** 1, the default, samples from the policy itself; 0 takes the most likely token. */
  temperature?: number
  /** Samples only from this many of the most likely tokens. */
  topK?: number
  /** Samples only from the most likely tokens that together have this probability. */
  topP?: number
  /** Samples only from tokens at least this many times as likely as the most likely one. */
  minP?: number
  /** A sample ends with the token that completes any of these texts. */
  stop?: readonly string[]
  /** When aborted, all samples end where they are. */
  signal?: AbortSignal
  /** Called for each token as it is drawn, with the index of its prompt, the index of its sample, and its id. */
  onToken?(prompt: number, sample: number, token: number): void
}

/** A completion. All arrays have shape [tokens]. */
export interface Sample {
  /** Token ids of the prompt, shape [prompt tokens]. */
  prompt: Int32Array
  /** Token ids, including the end-of-sequence token if it was drawn. */
  tokens: Int32Array
  /** The decoded text without special tokens. */
  text: string
  /** Natural log of the probability with which each token was drawn: temperature and filters included. */
  logprobs: Float32Array
  /** The same under the policy itself: temperature 1, no filters. */
  policyLogprobs: Float32Array
  /** Entropy of the policy's distribution at each token, in nats. */
  entropies: Float32Array
  /** `stop`: the sample ended by itself; `length`: at `maxNewTokens`; `aborted`: by `signal`. */
  finish: Finish
  /** Number of optimizer steps before it was drawn. */
  version: number
}

/** Tokens and the prompt before them; a `Sample` is one. */
export interface Sequence {
  /** Token ids that are given and not scored; at least one. */
  prompt: Int32Array
  /** Token ids, shape [tokens]. */
  tokens: Int32Array
}

/** Scores of a sequence's tokens; each array has shape [tokens]. */
export interface Scores {
  /** Natural log of each token's probability at temperature 1. */
  logprobs: Float32Array
  /** Entropy of the distribution at each token, in nats. */
  entropies: Float32Array
}

/** A sequence to learn from, with the columns that the objective reads. */
export interface Row extends Sequence {
  /**
   * Columns by name: one value per token, shape [tokens], or one value for all tokens. Defaults: `mask` is 1;
   * `proximal` is the log-prob under the current weights, without gradient; `known` is 1 if there is a `behaviour`
   * column, else 0; `staleness`, `foreign` and `replayed` are 0. Any other column that the objective reads must be
   * here.
   */
  columns?: Readonly<Record<string, Float32Array | number>>
}

/** The objective to minimise; see `expression` and `objectiveOf`. */
export interface Objective {
  /** The loss of one token. */
  loss: Expression
  /**
   * `mean`, the default, averages the loss over the tokens inside the mask; `sum` adds it up. Between two steps all calls
   * of `accumulate` have the same.
   */
  reduction?: 'mean' | 'sum'
  /** Metrics, reported as means over the same tokens. */
  metrics?: Readonly<Record<string, Expression>>
  /** The policy is softmax(logits / temperature). Default: 1. */
  temperature?: number
}

/** The result of one call of `accumulate`. */
export interface Gradient {
  /** The loss of this call's tokens: their mean or their sum, as the objective says. */
  loss: number
  /** 2-norm of this call's gradient, before clipping. */
  norm: number
  metrics: Record<string, number>
  /** Number of tokens inside the mask. */
  tokens: number
  /** Compute time. */
  seconds: number
  /** The first parameter with a gradient that is not finite, or `loss`. This call then added nothing. */
  nonFinite?: string
}

/** Settings of AdamW (Loshchilov & Hutter 2019), with clipping by the global norm. */
export interface StepOptions {
  learningRate: number
  /** Default: 0.9. */
  beta1?: number
  /** Default: 0.99. */
  beta2?: number
  /** Default: 1e-8. */
  epsilon?: number
  /** Decoupled weight decay. Default: 0. */
  weightDecay?: number
  /** A gradient with a larger 2-norm is scaled down to this one. Default: 1. */
  maxGradientNorm?: number
}

export interface Step {
  /** False if the gradient was not finite; then nothing was changed. */
  applied: boolean
  /** 2-norm of the accumulated gradient before clipping. */
  norm: number
  /** Optimizer steps so far. */
  version: number
  /** Number of tokens that the gradient is a mean or a sum over. */
  tokens: number
  seconds: number
}

export const EXPORT_TYPES = ['f32', 'bf16', 'f16', 'q8_0'] as const

export interface ExportOptions {
  /** Writes only the adapter, in PEFT's format or as GGUF. Default: the whole model, with the adapter merged. */
  adapterOnly?: boolean
  /** Number format. Default: `f32`. Only GGUF supports `q8_0`. */
  type?: (typeof EXPORT_TYPES)[number]
}

/**
 * A model in an engine. Calls run one after another, in a thread of their own. A call that fails changes nothing. Every
 * method rejects with a `WaggleError` that says what to do.
 */
export interface Model {
  readonly facts: ModelFacts
  /** Optimizer steps so far. */
  readonly version: number
  /** The token ids of a prompt, shape [tokens]. */
  encode(prompt: Prompt): Int32Array
  /** Text without special tokens. */
  decode(tokens: Int32Array): string
  /** Samples by prompt, then by sample index. */
  sample(prompts: readonly Prompt[], options: SampleOptions): Promise<Sample[][]>
  /**
   * Scores in the order of the sequences. There may be any number of them: they are split into batches that fit the
   * memory.
   */
  score(sequences: readonly Sequence[]): Promise<Scores[]>
  /** Adds to the accumulated gradient. After any number of calls it is the mean over all their tokens, or the sum. */
  accumulate(rows: readonly Row[], objective: Objective): Promise<Gradient>
  /** Drops the accumulated gradient. */
  discard(): void
  /** Makes one optimizer step with the accumulated gradient, and drops the gradient. */
  step(options: StepOptions): Promise<Step>
  /**
   * Saves a checkpoint in the folder: weights, optimizer and version. The newest three are kept. Resolves to its path.
   */
  save(folder: string): Promise<string>
  /**
   * Writes the model for other programs: a folder in Hugging Face's layout, or a file if the name ends in `.gguf`.
   * Overwrites existing files of the same names.
   */
  export(target: string, options?: ExportOptions): Promise<void>
  close(): Promise<void>
}
