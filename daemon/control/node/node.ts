// The interface between a running node and whatever controls it. The control server uses nothing else of the node, and
// commands and the terminal UI use the control server. The network interface is in protocol/api.

import type {
  AuditRequest,
  AuditResult,
  CheckpointResult,
  ConversationsRequest,
  ConversationsResult,
  EvalRequest,
  EvalResult,
  Event,
  FetchRequest,
  FetchResult,
  GroupsQuery,
  GroupView,
  JoinRequest,
  JoinResult,
  Progress,
  ReconfigureResult,
  ShareRequest,
  ShareResult,
  Snapshot,
  StopRequest,
} from '../../../protocol/api/index.ts'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'

export interface CallOptions {
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
}

/** Numbered events, the newest of which are kept. Created by `createEventLog`. */
export interface EventSource {
  /** Number of the newest event; 0 if there is none. */
  readonly last: number
  /** Kept events after `id`, oldest first. `gap` is the range that is no longer kept. */
  since(id: number): { events: Event[]; gap?: { from: number; to: number } }
  /** Calls `listener` for each new event until the returned function is called. Listeners must not throw. */
  subscribe(listener: (event: Event) => void): () => void
}

/** Everything that a running node can be asked. Expected failures are WaggleErrors. */
export interface NodeControl {
  /** Cheap and synchronous: called several times a second while a client watches. */
  snapshot(): Snapshot
  readonly events: EventSource
  /** The newest groups with their texts, newest first. A node may keep none. */
  groups?(query: GroupsQuery): GroupView[]
  join(request: JoinRequest, options?: CallOptions): Promise<JoinResult>
  /** An invite: a string with everything that another node needs to join. For a private swarm, it contains the key. */
  invite(): Promise<string>
  /** Lets peers fetch a file, for as long as the node runs. */
  share(request: ShareRequest): Promise<ShareResult>
  /** Fetches a file that a peer shares. It is only written to disk, never loaded. */
  fetch(request: FetchRequest, options?: CallOptions): Promise<FetchResult>
  /** Disconnects from all peers; the node keeps training alone. */
  leave(options?: CallOptions): Promise<void>
  pause(): Promise<void>
  resume(): Promise<void>
  evaluate(request: EvalRequest, options?: CallOptions): Promise<EvalResult>
  /** Computes steps behind this node's weights or a peer's again. */
  audit(request: AuditRequest, options?: CallOptions): Promise<AuditResult>
  checkpoint(options?: CallOptions): Promise<CheckpointResult>
  /** Lists, shows, rates or deletes served calls that are kept. */
  conversations(request: ConversationsRequest): Promise<ConversationsResult>
  /**
   * Rereads the config and applies what can change while the node runs. `settings` (path -> value as text) override the
   * config until the node stops. If the config is invalid, rejects with E_CONFIG and changes nothing.
   */
  reconfigure(settings: Record<string, string>): Promise<ReconfigureResult>
  /** Ignores a peer's groups, or accepts them again. `peer` is an ID or an unambiguous name. Returns the ID. */
  mute(peer: string, on: boolean): Promise<string>
  /**
   * Stops the node. Resolves when training and swarm are down and the checkpoint is on disk; later calls get the same
   * promise. The control server closes afterwards, since it must send the answer; then whenStopped resolves.
   */
  stop(request?: StopRequest, options?: CallOptions): Promise<void>
}

export interface NodeHandle extends NodeControl {
  /** Resolves with the exit status when the node is down; rejects if it failed. */
  readonly whenStopped: Promise<number>
}

export interface RunOptions {
  config: Config
  /** The current config from disk, overridden by `settings`. Throws E_CONFIG. */
  readConfig(settings: Record<string, string>): Config
  /** Rejects with E_CONFIG and all problems if a node could not start with that config. */
  checkConfig(settings: Record<string, string>): Promise<unknown>
  paths: Paths
  /** The lineage to continue, if the config names no model and `config.model.path` comes from a checkpoint. */
  lineage?: string | undefined
  /** An invite, accepted before the network starts. The node must still be asked to join. */
  invite?: string
  /** Aborted when the user interrupts the start. */
  signal: AbortSignal
  /** Aborts `signal`, for a start that is asked to end through the control API. */
  interrupt(): void
  /** Progress of the start, one line at a time. */
  onProgress: (progress: Progress) => void
}

/** Starts a whole node, first of all its control server. Resolves when it is training, with or without peers. */
export type RunNode = (options: RunOptions) => Promise<NodeHandle>
