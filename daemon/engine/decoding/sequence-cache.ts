// The contract of a KV cache for sequences that are being decoded. The decoding loop (`decoding.ts`) knows only slots
// and tokens. Implementations keep keys and values in the host's memory (`host/cache.ts`) or on the device
// (`resident/cache.ts`).

import type { Draw } from '../sampling/draw.ts'

/** A prompt that has been read. It can be loaded into slots until it is released. */
export interface ReadPrompt {
  readonly length: number
  /** Tokens at its start whose keys and values had been kept. */
  readonly reused?: number
  /** Logits after its last token, [vocabulary]. */
  readonly logits: Float32Array
  /** May be called more than once. */
  release(): void
}

export interface CacheSize {
  slots: number
  capacity: number
}

export interface PromptTokens {
  tokens: Int32Array
  /** Its start may already be in the cache, kept from an earlier turn. */
  isConversation?: boolean
}

export interface LoadedPrompt {
  slot: number
  prompt: ReadPrompt
  /** Sequences that will start from the same prompt later; 0 if left out. */
  waiting?: number
}

/** What a token is drawn at, if all tokens may be drawn. */
export interface Point {
  /** Of the cumulative distribution. */
  u: number
  temperature: number
}

export interface SequenceCache {
  /** Number of sequences decoded side by side. */
  readonly slots: number
  /** Most tokens of one sequence. */
  readonly capacity: number
  /** `isWanted` may be asked while a long prompt is read. Undefined once it says no. */
  read(prompts: readonly PromptTokens[], isWanted?: () => boolean): Promise<ReadPrompt[] | undefined>
  load(entries: readonly LoadedPrompt[]): Promise<void>
  /**
   * Decodes one step: the logits [slots, vocabulary] after each slot's newest token, given the tokens and their
   * positions. An empty slot has position -1, and its row of logits is undefined.
   */
  decode(tokens: Int32Array, positions: Int32Array): Promise<Float32Array>
  /**
   * As `decode`, and draws each slot's next token. A slot without a point gets no draw. Without this method, tokens are
   * drawn from logits.
   */
  draw?(
    tokens: Int32Array,
    positions: Int32Array,
    points: readonly (Point | undefined)[],
  ): Promise<(Draw | undefined)[]>
  /**
   * Keeps the keys and values of a slot's sequence for prompts that start with the same tokens. `tokens` are the tokens
   * that the slot holds. Without this method, every prompt is read whole.
   */
  keep?(slot: number, tokens: Int32Array): void
  /** Clears a slot. */
  clear(slot: number): void
  /** Continues with only these slots, in this order, in a cache of this size. Their sequences must fit into it. */
  resize(kept: readonly number[], size: CacheSize): Promise<void>
  close(): void
}
