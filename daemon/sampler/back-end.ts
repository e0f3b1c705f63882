// The contract of a back end: a program outside the node's own engines that continues token sequences with this model
// and an adapter. `external.ts` turns it into a sampler.

import type { EngineInfo } from '../engine/opening.ts'

/** One sequence to write. */
export interface Line {
  /** Token ids to continue; never empty. */
  readonly prompt: Int32Array
  /** Unsigned 32-bit. */
  readonly seed: number
  readonly maxNewTokens: number
  /** Aborted if the sequence has to end where it is. Then the back end gives it no more tokens, and does not throw. */
  readonly signal: AbortSignal
  /**
   * Takes the next token and its log-prob under the policy. Returns true if the sequence ends with it. Throws E_SAMPLER
   * if the token or the log-prob cannot be right.
   */
  take(token: number, logprob: number): boolean
  /** The back end has ended the sequence after the last token that it gave. Throws E_SAMPLER if it gave none. */
  end(finish: 'stop' | 'length'): void
}

export interface WriteOptions {
  /** 1 samples from the policy itself, 0 takes the most likely token. Nothing else changes the distribution. */
  temperature: 0 | 1
  stopTokens: readonly number[]
}

/** An adapter that a back end has loaded. */
export interface LoadedAdapter {
  /** Resolves when every line has ended or has been aborted. */
  write(lines: readonly Line[], options: WriteOptions): Promise<void>
  /** Frees the adapter. Nothing is written with it any more. */
  release(): Promise<void>
}

export interface AdapterFile {
  /** A GGUF file, or a folder in PEFT's layout. */
  path: string
  /** Unique while the node runs: letters, digits and hyphens. */
  name: string
}

export interface BackEnd {
  readonly info: EngineInfo
  readonly format: 'gguf' | 'peft'
  /** Loading an adapter interrupts whatever is being written. */
  readonly isExclusive?: boolean
  /** Throws E_SAMPLER if the back end cannot be used. Returns the size of its model's vocabulary, if known. */
  open(): Promise<{ vocabulary?: number | undefined }>
  /** Text to token ids, with special tokens parsed; undefined if the back end cannot do this. */
  encode?(text: string): Promise<readonly number[] | undefined>
  load(adapter: AdapterFile): Promise<LoadedAdapter>
  close(): Promise<void>
}
