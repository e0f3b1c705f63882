// The seam between a running node and all that steers it. The node core implements NodeControl; the control server,
// and through it commands and terminal UI, use nothing else of the node. Not a network interface: that is protocol/api.

import type {
  CheckpointResult,
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
} from '../../protocol/api/index.ts'
import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'

export interface CallOptions {
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
}

/** Numbered events, kept for a while. `createEventLog` makes one. */
export interface EventSource {
  /** Number of the newest event, 0 if there is none. */
  readonly last: number
  /** Events after `id` that are still kept, oldest first, and the range that is gone, if any of it is. */
  since(id: number): { events: Event[]; gap?: { from: number; to: number } }
  /** Calls `listener` for each new event, until the returned function is called. Listeners must not throw. */
  subscribe(listener: (event: Event) => void): () => void
}

/** All that can be asked of a running node. Expected failures are WaggleErrors. */
export interface NodeControl {
  /** Cheap and synchronous: called several times a second while somebody watches. */
  snapshot(): Snapshot
  readonly events: EventSource
  /** The newest groups with their texts, newest first, for people to look at. A node may keep none. */
  groups?(query: GroupsQuery): GroupView[]
  join(request: JoinRequest, options?: CallOptions): Promise<JoinResult>
  /** One string with all that another node needs to join. For a private swarm its key is in it. */
  invite(): Promise<string>
  /** Lets peers fetch a file, for as long as the node runs. */
  share(request: ShareRequest): Promise<ShareResult>
  /** Fetches a file that a peer shares. Only ever written to disk; to use it is for a person to decide. */
  fetch(request: FetchRequest, options?: CallOptions): Promise<FetchResult>
  /** Leaves all peers and goes on alone. */
  leave(options?: CallOptions): Promise<void>
  pause(): Promise<void>
  resume(): Promise<void>
  evaluate(request: EvalRequest, options?: CallOptions): Promise<EvalResult>
  checkpoint(options?: CallOptions): Promise<CheckpointResult>
  /**
   * Reads the config again, with settings (path -> value as text) laid over it until the node stops, and takes on what
   * can change while it runs. Rejects with E_CONFIG, having changed nothing, where the config is not valid.
   */
  reconfigure(settings: Record<string, string>): Promise<ReconfigureResult>
  /** Takes nothing from a peer any more, or again. Given by its ID or its name. */
  mute(peer: string, on: boolean): Promise<void>
  /**
   * Begins to stop, and resolves when training and swarm are down and the checkpoint is on disk; later calls get the
   * same promise. The control server is closed after that, since it has to carry the answer; then whenStopped resolves.
   */
  stop(request?: StopRequest, options?: CallOptions): Promise<void>
}

export interface NodeHandle extends NodeControl {
  /** Resolves with the process's exit status once the node is down, for whatever reason; rejects if it broke. */
  readonly whenStopped: Promise<number>
}

export interface RunOptions {
  config: Config
  /** The config as it is now on disk, with settings laid over it. Throws E_CONFIG. */
  readConfig(settings: Record<string, string>): Config
  paths: Paths
  /** Accepted before any network is started. The node still has to be told to join. */
  invite?: string
  /** Aborted when the operator interrupts before the node is up. */
  signal: AbortSignal
  /** What start-up is doing, one line at a time. */
  onProgress: (progress: Progress) => void
}

/** Brings a whole node up, control server included, and returns once it trains (peers or not). */
export type RunNode = (options: RunOptions) => Promise<NodeHandle>
