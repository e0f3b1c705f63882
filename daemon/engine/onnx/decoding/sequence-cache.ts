// The contract of a key/value cache for sequences being decoded. The decoding loop (`decoding.ts`) knows only slots
// and tokens. Implementations keep keys and values in the host's memory (`host/cache.ts`) or on the device
// (`resident/cache.ts`).

/** A prefilled prompt that can be put into slots until it is released. */
export interface ReadPrompt {
  readonly length: number
  /** Tokens at its beginning that were kept. */
  readonly reused?: number
  /** Logits after its last token, one for each word of the vocabulary. */
  readonly logits: Float32Array
  /** May be called again. */
  release(): void
}

export interface CacheSize {
  slots: number
  capacity: number
}

export interface PromptTokens {
  tokens: Int32Array
  /** It may begin with kept tokens. */
  isConversation?: boolean
}

export interface SequenceCache {
  /** Number of sequences side by side. */
  readonly slots: number
  /** Tokens of the longest sequence that it can hold. */
  readonly capacity: number
  read(prompts: readonly PromptTokens[]): Promise<ReadPrompt[]>
  load(entries: readonly { slot: number; prompt: ReadPrompt }[]): Promise<void>
  /**
   * The next logits [slots, vocabulary], from each slot's newest token and its position; a slot without a sequence
   * has position -1, and its row is undefined.
   */
  decode(tokens: Int32Array, positions: Int32Array): Promise<Float32Array>
  /**
   * Keeps keys and values of a slot's sequence, of which `tokens` are those that it holds, for prompts that begin with
   * them. A cache without it reads every prompt whole.
   */
  keep?(slot: number, tokens: Int32Array): void
  /** Clears a slot. */
  clear(slot: number): void
  /**
   * Continues with only these slots, in this order, in a cache of this size. Their sequences must fit into its capacity.
   */
  resize(kept: readonly number[], size: CacheSize): Promise<void>
  close(): void
}
