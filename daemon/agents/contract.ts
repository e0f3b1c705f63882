// What the gateway needs from the node, and what it offers. The only two connections between agents and the rest of the
// daemon are the sampler, which writes tokens, and `onGroup`, which takes finished groups.

import type { AgentsInfo } from '../../protocol/api/index.ts'
import type { Group, PolicyReference } from '../../protocol/train/index.ts'
import type { Sampler } from '../engine/engine.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import type { ServedEnvironment } from './environments/environment.ts'
import type { OfferedModel } from './serving/offered-model.ts'
import type { Serving } from './serving/serving.ts'

export interface GatewayOptions extends OfferedModel {
  /** host:port on loopback. Undefined if there are only served environments. */
  listen: string | undefined
  /** Refuse requests with settings that the node does not grant. Otherwise these are ignored with a warning header. */
  strict: boolean
  /** The sampler can keep an answer to a grammar. */
  enforces: boolean
  /** A rollout without a reward is dropped this long after it was opened. */
  rolloutSeconds: number
  /** Most rollouts that may be open at a time. */
  maxOpen: number
  /** Rollouts per group. */
  groupSize: number
  temperature: number
  /** Most tokens of one answer. */
  maxNewTokens: number
  /** This node's peer ID. */
  author: string
}

export interface GatewayParts {
  /** Answers calls that belong to no rollout. */
  serving: Pick<Serving, 'answer'>
  /** The key that opens rollouts. Each rollout then gets a key of its own. */
  token(): string
  /** Environments that the node plays by itself. */
  environments: readonly ServedEnvironment[]
  tokenizer: Tokenizer
  sampler: Pick<Sampler, 'generate'>
  policy(): PolicyReference
  /** True for a version that a roll-back has discarded. Its rollouts are dropped. */
  isThrownAway(version: number): boolean
  /** Whether another group may begin while this many are active. */
  hasRoom(active: number): boolean
  /** True if the node itself has a task with this name. */
  isTask(name: string): boolean
  /** Wakes up when groups were used or the node resumes. */
  changed: { readonly count: number; after(count: number, signal: AbortSignal): Promise<void>; wake(): void }
  /** Takes a finished group. Resolves when the group can no longer be lost. */
  onGroup(group: Group): Promise<void>
  /** Called when a call of the sampler has ended. */
  onSampled(call: { seconds: number; tokens: number }): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
  /** ms since the epoch. */
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
}

export interface AgentGateway {
  /** The server's URL, such as http://127.0.0.1:4290; undefined if it does not listen. */
  readonly url: string | undefined
  info(): AgentsInfo
  close(): Promise<void>
}
