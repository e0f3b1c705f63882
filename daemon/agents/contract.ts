// What the gateway needs from the node, and what it offers: the only two ways between agents and the rest of the daemon
// are the sampler, which writes tokens, and `onGroup`, which takes a finished group.

import type { AgentsInfo } from '../../protocol/api/index.ts'
import type { Group, PolicyReference } from '../../protocol/train/index.ts'
import type { Sampler } from '../engine/engine.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import type { ServedEnvironment } from './environments/environment.ts'

export interface GatewayOptions {
  /** host:port, on loopback. Undefined if there are served environments only. */
  listen: string | undefined
  /** Answer wishes that the node does not grant with an error; otherwise they are ignored with a warning header. */
  strict: boolean
  /** Time from opening a rollout until it is dropped if it has no reward. */
  rolloutSeconds: number
  /** Most rollouts open at a time. */
  maxOpen: number
  /** Rollouts of a group. */
  groupSize: number
  temperature: number
  /** Tokens of one answer. */
  maxNewTokens: number
  /** Tokens of prompt and answer together. */
  context: number
  vocabulary: number
  /** The model's name, as callers may give it. */
  model: string
  /** This node's peer ID. */
  author: string
}

export interface GatewayParts {
  /** Opens rollouts; each rollout gets a key of its own. */
  token(): string
  /** Environments that the node plays by itself. */
  environments: readonly ServedEnvironment[]
  tokenizer: Tokenizer
  sampler: Pick<Sampler, 'generate'>
  policy(): PolicyReference
  /** True for versions that a roll-back has discarded: their rollouts are dropped. */
  isThrownAway(version: number): boolean
  /** Whether another group may be begun, with this many being played. */
  hasRoom(active: number): boolean
  /** True if the node has a task of its own by this name. */
  isTask(name: string): boolean
  /** Wakes when groups were used or the node resumes. */
  changed: { readonly count: number; after(count: number, signal: AbortSignal): Promise<void>; wake(): void }
  /** Takes a finished group; resolves when it can no longer be lost. */
  onGroup(group: Group): Promise<void>
  /** A call of the sampler has ended. */
  onSampled(call: { seconds: number; tokens: number }): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
  /** ms since the epoch. */
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
}

export interface AgentGateway {
  /** Of the server, such as http://127.0.0.1:4290, if it listens. */
  readonly url: string | undefined
  info(): AgentsInfo
  close(): Promise<void>
}
