// What the swarm needs of the rest of the daemon, and what it says to it.

import type { Task } from '../../protocol/plugin/index.ts'
import type { Finish } from '../../protocol/train/index.ts'
import type { Reason } from './admission/reasons.ts'

/** Time, passed in so that tests can hold it. */
export interface Clock {
  /** ms since the epoch. */
  now(): number
  /** Calls `run` once after `ms`, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void
}

export type Log = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  data?: Record<string, unknown>,
) => void

export interface TaskSource {
  /** The task under this name, if its version is this one. */
  find(name: string, version: number): Task | undefined
}

/** This node's tokenizer, as far as rollouts of others go. */
export interface Codec {
  /** Digest of the tokenizer, 64 hex digits, as in PolicyReference. */
  readonly tokenizer: string
  /** Most tokens that prompt and completion may have together; no limit if left out. */
  readonly context?: number
  /** Ids that this node's sampler would see before the completion, chat template and all. */
  encodePrompt(question: string): Int32Array
  /** Ids between an answer of an episode and the next one, end-of-sequence left out, where the environment shows this. */
  encodeReply(observation: string): Int32Array
  /** Ids that end an answer. */
  readonly stopTokens: readonly number[]
  /** Ids of a completion, end-of-sequence included where the finish is `stop`. */
  encodeCompletion(text: string, finish: Finish): Int32Array
  /**
   * Text of a completion. Undefined for an id outside the vocabulary, and for a special token anywhere but a single
   * end-of-sequence at the end: otherwise a peer could hide tokens that text does not show.
   */
  decodeCompletion(ids: Int32Array): string | undefined
}

/**
 * What plugins here exchange with the same plugins of peers. Asked of it rather than pushed into the swarm, since a swarm may
 * become another one while the node runs.
 */
export interface PluginStates {
  /** Of plugins that merge, `kind/name`, each with the version of its bytes' form. None: nothing is asked or answered. */
  wanted(): ReadonlyArray<{ name: string; version: number }>
  /** This node's own, for a peer that asks; at most 64 KiB. Undefined where there is nothing to tell. */
  own(name: string): Uint8Array | undefined | Promise<Uint8Array | undefined>
  /** A peer's, in the version that was wanted. At most 64 KiB, and otherwise anything that a liar may think of. */
  received(name: string, from: string, bytes: Uint8Array): void | Promise<void>
}

export type SwarmEvent =
  | { type: 'refused'; peer: string; reason: Reason; task?: string }
  | {
      type: 'peer'
      peer: string
      name: string
      change: 'found' | 'connected' | 'disconnected' | 'muted' | 'unmuted'
      address?: string
      reason?: string
    }
  /** Something that a person should know; the key stays the same while the matter does. */
  | { type: 'notice'; key: string; message: string; action?: string }
  /** What the notice of this key said is so no more. */
  | { type: 'over'; key: string }
