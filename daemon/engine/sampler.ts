// The contract of a sampler: it continues token sequences with the policy's weights and reports each token's
// log-prob.

import type { Finish, Segment } from '../../protocol/train/index.ts'
import type { Weights } from './decoder.ts'
import type { EngineInfo, OpenRequest } from './engine.ts'

export interface SampleRequest {
  /** Token ids to continue; never empty. */
  prompt: Int32Array
  /** Unsigned 32-bit. The same seed gives the same tokens from the same weights. */
  seed: number
  /** Tokens at the end of the prompt that this sequence drew earlier; its random numbers continue after them. */
  drawn?: number
  /** If this sequence may have fewer new tokens than the request allows. */
  maxNewTokens?: number
}

/** The distribution that tokens are drawn from; see draw.ts for the order. */
export interface Sampling {
  /** 1 samples from the policy itself; 0 takes the most likely token. */
  temperature: number
  /** Draw from this many of the most likely tokens only. */
  topK?: number
  /** Draw from the most likely tokens that together have this probability only. */
  topP?: number
  /** Draw only from tokens at least this many times as likely as the most likely one. */
  minP?: number
}

/** Bytes of keys and values that an engine keeps of conversations, at most. */
export const KEPT_BYTES = 512e6

export interface GenerateRequest extends Sampling {
  samples: readonly SampleRequest[]
  maxNewTokens: number
  /** A sequence ends after any of these tokens, and keeps it as its last token. */
  stopTokens: readonly number[]
  /** A sequence ends with the token that completes any of these in its text, prompt excluded. */
  stopStrings?: readonly string[]
  /**
   * The samples belong to conversations that go on: an engine may keep their keys and values until the weights change, and
   * read only those tokens of a prompt that are new. Nothing that is drawn depends on it, but for rounding.
   */
  isConversation?: boolean
  /** Sequences decoded side by side; with several calls, as many as the one that allows most. */
  slots?: number
}

/** A token just drawn, and the index of its sample in the request. */
export interface DrawnToken {
  sample: number
  token: number
  /** As in `Sample`, in nats. */
  logprob: number
  entropy: number
}

export interface Sample {
  tokens: Int32Array
  /** Log-prob of each token under the distribution it was drawn from. */
  logprobs: Float32Array
  /** Log-prob of each token under the policy itself: temperature 1, no truncation. */
  policyLogprobs: Float32Array
  /** Entropy of that distribution, nats. */
  entropies: Float32Array
  finish: Finish
  /** Tokens at the prompt's beginning that were not read again, if any: `GenerateRequest.isConversation`. */
  reused?: number
  /** Version of the weights that drew the sample, or its first token. */
  version: number
  /** If the weights changed while the sample was drawn: which version drew which tokens. */
  segments?: Segment[]
}

/** Ends single sequences of a running `generate`; see `createControl` in control.ts. */
export interface Control {
  /**
   * Ends these samples of the request where they are, as aborted. They keep the tokens drawn so far, and the other
   * samples are not affected. Ignores samples that have ended or that are not in the request.
   */
  cut(samples: readonly number[]): void
  /** For engines: calls back for every cut, earlier ones included, until the returned function is called. */
  listen(onCut: (samples: readonly number[]) => void): () => void
}

export interface GenerateOptions {
  /** Ends all sequences. */
  signal?: AbortSignal
  control?: Control
  /** Called with tokens as they are drawn, by engines that support it. The samples returned contain all of them. */
  onToken?: (drawn: DrawnToken) => void
  /** Called once for each sequence when it ends, with its index in the request and its sample. */
  onFinish?: (sample: number, written: Sample) => void
}

export interface Sampler {
  readonly info: EngineInfo
  open(request: OpenRequest): Promise<void>
  /**
   * Calls may overlap. Engines that can take a call into the decoding that runs, from its next step on; it resolves when
   * its own samples have ended. What a sequence writes does not depend on the others, but for rounding.
   */
  generate(request: GenerateRequest, options?: GenerateOptions): Promise<Sample[]>
  /**
   * Tokens drawn from now on carry `version`; it is unchanged if left out. The call waits for those before it, and calls of
   * `generate` after it wait for it: no sequence changes its weights. With `isInFlight`, a running `generate` switches to the new weights between two steps and keeps its
   * keys and values. A sampler that takes on weights every so many versions takes these at once if they are
   * urgent, as after a roll-back.
   */
  setWeights(
    weights: Weights,
    version?: number,
    options?: { isInFlight?: boolean; isUrgent?: boolean },
  ): Promise<void>
  close(): Promise<void>
}
