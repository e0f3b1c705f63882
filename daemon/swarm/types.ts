// What the swarm needs from the rest of the daemon, and the events that it reports.

import type { Task } from '../../protocol/plugin/index.ts'
import type { Example, Finish } from '../../protocol/train/index.ts'
import type { Reason } from './admission/reasons.ts'

/** Passed in, so that tests can control it. */
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
  /** The task with this name and version, if there is one. */
  find(name: string, version: number): Task | undefined
}

/** The parts of this node's tokenizer that foreign rollouts need. */
export interface Codec {
  /** Digest of the tokenizer, 64 hex digits, as in PolicyReference. */
  readonly tokenizer: string
  /** Maximum tokens of prompt and completion together; no limit if undefined. */
  readonly context?: number
  /** IDs that this node's sampler would see before the completion, including the chat template. */
  encodePrompt(question: string, examples?: readonly Example[]): Int32Array
  /** IDs between an answer of an episode and the next one, without end-of-sequence, if the environment shows this. */
  encodeReply(observation: string): Int32Array
  /** IDs that end an answer. */
  readonly stopTokens: readonly number[]
  /** IDs of a completion, with end-of-sequence if the finish is `stop`. */
  encodeCompletion(text: string, finish: Finish): Int32Array
  /**
   * Text of a completion. Undefined if an ID is outside the vocabulary, or if there is a special token other than a
   * single end-of-sequence at the end: otherwise a peer could hide tokens that the text does not show.
   */
  decodeCompletion(ids: Int32Array): string | undefined
}

/**
 * The state that plugins exchange with the same plugins of peers. The swarm pulls it, since the swarm may be replaced
 * while the node runs.
 */
export interface PluginStates {
  /** Plugins that merge state, as `kind/name`, with their format versions. If empty, nothing is asked or answered. */
  wanted(): ReadonlyArray<{ name: string; version: number }>
  /** This node's own state for a peer that asks; at most 64 KiB. Undefined if there is none. */
  own(name: string): Uint8Array | undefined | Promise<Uint8Array | undefined>
  /** A peer's state in the wanted version: at most 64 KiB of untrusted bytes. */
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
  /** A notice for the user; the key stays the same while the condition lasts. */
  | { type: 'notice'; key: string; message: string; action?: string }
  /** The condition behind the notice of this key has ended. */
  | { type: 'over'; key: string }
