// The contract of a sampler: it continues token sequences with the policy's weights and reports the log-prob of each
// token.

import type { Finish, Segment } from '../../protocol/train/index.ts'
import type { Grammar } from './grammar/grammar.ts'
import type { EngineInfo, OpenRequest } from './opening.ts'
import type { Weights } from './weights.ts'

export interface SampleRequest {
  /** Token ids to continue; never empty. */
  prompt: Int32Array
  /** Unsigned 32-bit. The same seed gives the same tokens from the same weights. */
  seed: number
  /** How many tokens at the end of the prompt this sequence drew earlier. Its random numbers continue after them. */
  drawn?: number
  /** Caps this sequence's new tokens below the request's limit. */
  maxNewTokens?: number
}

/** The distribution that tokens are drawn from; see draw.ts for the order. */
export interface Sampling {
  /** 1 samples from the policy itself; 0 takes the most likely token. */
  temperature: number
  /** Draw only from this many of the most likely tokens. */
  topK?: number
  /** Draw only from the smallest set of most likely tokens that has at least this total probability. */
  topP?: number
  /** Draw only from tokens at least this many times as likely as the most likely one. */
  minP?: number
}

/** Most bytes of KV cache that an engine keeps for conversations. */
export const KEPT_BYTES = 512e6

export interface GenerateRequest extends Sampling {
  samples: readonly SampleRequest[]
  maxNewTokens: number
  /** A sequence ends after any of these tokens. The stop token is kept as its last token. */
  stopTokens: readonly number[]
  /** A sequence ends with the token that completes any of these strings in its text. The prompt does not count. */
  stopStrings?: readonly string[]
  /** The text of every sequence is of this form: of other tokens than those that continue it, none is drawn. */
  grammar?: Grammar
  /**
   * The samples belong to conversations that will continue. An engine may keep their KV cache until the weights change,
   * and then read only the new tokens of a prompt. Apart from rounding, this does not affect what is drawn.
   */
  isConversation?: boolean
  /**
   * Somebody waits for the answers, and they are not trained on. They begin before all others, even if all slots are
   * taken, and their weights may change while they are written.
   */
  isInteractive?: boolean
  /** Most sequences decoded side by side. If several calls run together, the largest value counts. */
  slots?: number
}

/** A token that was just drawn, with the index of its sample in the request. */
export interface DrawnToken {
  sample: number
  token: number
  /** In nats, as in `Sample`. */
  logprob: number
  entropy: number
}

export interface Sample {
  tokens: Int32Array
  /** Log-prob of each token under the distribution it was drawn from. */
  logprobs: Float32Array
  /** Log-prob of each token under the policy itself: temperature 1, no truncation. */
  policyLogprobs: Float32Array
  /** Entropy of the distribution that each token was drawn from, in nats. */
  entropies: Float32Array
  /** With a grammar: the probability that the policy gave, at each token, to all tokens that the grammar allowed. */
  allowed?: Float32Array
  finish: Finish
  /** Tokens at the start of the prompt that were not read again; see `GenerateRequest.isConversation`. */
  reused?: number
  /** Version of the weights that drew the sample, or its first token if they changed. */
  version: number
  /** Which version drew which tokens, if the weights changed while the sample was drawn. */
  segments?: Segment[]
}

/** Ends single sequences of a running `generate`; see `createControl` in control.ts. */
export interface Control {
  /**
   * Ends these samples of the request at once; they count as aborted and keep the tokens drawn so far. The other
   * samples are not affected. Samples that have ended or are not in the request are ignored.
   */
  cut(samples: readonly number[]): void
  /** For engines: calls back for every cut, including earlier ones, until the returned function is called. */
  listen(onCut: (samples: readonly number[]) => void): () => void
}

export interface GenerateOptions {
  /** Ends all sequences. */
  signal?: AbortSignal
  control?: Control
  /** Called with tokens as they are drawn, if the engine supports it. The returned samples contain all of them. */
  onToken?: (drawn: DrawnToken) => void
  /** Called now and then with the number of tokens drawn so far in all sequences, if the engine supports it. */
  onDrawn?: (tokens: number) => void
  /** Called once for each sequence when it ends, with its index in the request and its sample. */
  onFinish?: (sample: number, written: Sample) => void
}

export interface Sampler {
  readonly info: EngineInfo
  open(request: OpenRequest): Promise<void>
  /**
   * Calls may overlap. If the engine can, it takes a new call into the decoding that is running, from its next step on.
   * The call resolves when its own samples have ended. Apart from rounding, a sequence does not depend on the others.
   */
  generate(request: GenerateRequest, options?: GenerateOptions): Promise<Sample[]>
  /**
   * Tokens drawn from now on carry `version`, which stays the same if left out. The call waits for earlier calls, and
   * later calls of `generate` wait for it, so no sequence changes its weights. With `isInFlight`, a running `generate`
   * instead switches to the new weights between two steps and keeps its KV cache. `isUrgent`, as after a roll-back,
   * makes a sampler that takes on only every n-th version take this one at once.
   */
  setWeights(
    weights: Weights,
    version?: number,
    options?: { isInFlight?: boolean; isUrgent?: boolean },
  ): Promise<void>
  close(): Promise<void>
}
