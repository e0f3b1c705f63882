// Keys and values of the sequences that are being decoded. The sampling loop (`generate.ts`) knows slots and tokens;
// where keys and values are kept, and what moves them, is the business of what is behind this contract: the host's
// memory (`host-cache.ts`) or the device's (`resident/cache.ts`).

/** A prompt that has been read and can be put into slots, until it is released. */
export interface ReadPrompt {
  readonly length: number
  /** After its last token, one for each word of the vocabulary. */
  readonly logits: Float32Array
  /** May be called again. */
  release(): void
}

export interface SequenceCache {
  /** Sequences that have room. */
  readonly slots: number
  read(prompts: readonly Int32Array[]): Promise<ReadPrompt[]>
  load(entries: readonly { slot: number; prompt: ReadPrompt }[]): Promise<void>
  /**
   * The next logits [slots, vocabulary], from each slot's newest token and its position; a slot without a sequence
   * has position -1, and its row means nothing.
   */
  decode(tokens: Int32Array, positions: Int32Array): Promise<Float32Array>
  /** Forgets a slot's sequence. */
  clear(slot: number): void
  /** Goes on with these slots alone, in this order, in a cache of so many. */
  narrow(kept: readonly number[], slots: number): Promise<void>
  close(): void
}
