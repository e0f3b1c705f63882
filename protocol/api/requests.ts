// What a client may ask of a node, and what it gets. Every route is HTTP with JSON over a unix socket that only its
// owner can open. Long ones (join, eval, stop) stream progress as JSON lines to a client that accepts NDJSON.

import type { ErrorCode } from '../errors.ts'
import type { CheckpointInfo, Evaluation, SeriesPoint, StateWord } from './snapshot.ts'

export const NDJSON = 'application/x-ndjson'

/** The most bytes that a request's body may have. */
export const MAX_REQUEST_BYTES = 64 * 1024

/** The most values that one label of a metric may take. */
export const MAX_METRIC_LABELS = 32

/** GET /v1/health: alive, and who is there. No secrets. */
export interface Health {
  v: 1
  state: StateWord
  name: string
  peerId: string
  pid: number
  version: string
  /** Changes with every start of the daemon, so that a reader notices a restart and begins at event 0 again. */
  run: string
  /** Number of the newest event. */
  lastEvent: number
}

export interface JoinRequest {
  /** A peer ID, a multiaddr with or without one, or an invite. */
  target: string
}

export interface JoinResult {
  peerId: string
  name: string
  address?: string
  /** True if it was connected before. */
  already: boolean
}

export interface InviteResult {
  /** Given to `waggle join` on another node. Whoever has it may come in, so it is to be kept like a key. */
  invite: string
}

export interface ShareRequest {
  /** Of a file on the node's machine, absolute. It must not change while it is shared: until the node stops. */
  path: string
  /** Peer IDs, or names that the node shows for them: nobody else gets it. Left out: whoever knows the source. */
  to?: string[]
}

export interface ShareResult {
  /** Given to `waggle fetch` on another node: the peer ID, a slash, and the digest of the file's digests. */
  source: string
  bytes: number
}

export interface FetchRequest {
  /** What `waggle share` printed on the other node. */
  source: string
  /** Where it goes on the node's machine, absolute; nothing may be there yet. Nothing ever loads it by itself. */
  path: string
}

export interface FetchResult {
  path: string
  bytes: number
  /** Bytes that an earlier try had left. */
  resumed: number
}

export interface EvalRequest {
  /** Names of tasks; all that the node trains on if left out. */
  tasks?: string[]
  /** Held-out prompts per task; the config's number if left out. */
  promptsPerTask?: number
  /** Answers per prompt at temperature 1, for pass@k; 1 if left out. */
  samples?: number
  /** Plugins that may act at test time do, such as a library of skills. The bare question if left out. */
  plugins?: boolean
}

/** A share with its 95 % confidence interval. */
export interface Estimate {
  value: number
  low: number
  high: number
}

/** One task at one difficulty. */
export interface EvalPart {
  task: string
  difficulty: number
  prompts: number
  /** Answers per prompt at temperature 1. */
  samples: number
  /** Mean score of those answers; the interval counts prompts, not answers. */
  sampled: Estimate
  /** Mean score of the most likely answer. */
  greedy: Estimate
  /** For k = 1, 2, 4 ... up to `samples`: the chance that one of k answers is right. */
  passAtK: Record<string, Estimate>
}

/** Without hints, skills or any other help in the prompt, on seeds that are never trained on. */
export type EvalResult = Evaluation & {
  parts?: EvalPart[]
  /** The mean over tasks. */
  overall?: Pick<EvalPart, 'sampled' | 'greedy' | 'passAtK'>
  /** As in the request. */
  plugins?: boolean
}
export type CheckpointResult = CheckpointInfo

export interface MuteRequest {
  /** Peer ID, or the name that the node shows for it. */
  peer: string
  /** False: hear it again. */
  on: boolean
}

export interface ReconfigureRequest {
  /** Config path -> value as text; in force until the node stops. Nothing: only read the file again. */
  settings?: Record<string, string>
}

export interface ReconfigureResult {
  changed: Array<{ path: string; from?: unknown; to?: unknown }>
  /** Keys that differ from what the node runs with, and that a restart is needed for. */
  restart: string[]
}

export interface StopRequest {
  /** Default true. */
  checkpoint?: boolean
}

export interface Done {
  done: true
  message: string
}

/** What happens while a long request runs. */
export interface Progress {
  message: string
  /** Of the whole, 0 to 1, if it can be told. */
  fraction?: number
}

/** Route -> [request, response]. All are POST under /v1/. */
export interface Commands {
  join: [JoinRequest, JoinResult]
  leave: [Record<string, never>, Done]
  invite: [Record<string, never>, InviteResult]
  share: [ShareRequest, ShareResult]
  fetch: [FetchRequest, FetchResult]
  pause: [Record<string, never>, Done]
  resume: [Record<string, never>, Done]
  stop: [StopRequest, Done]
  eval: [EvalRequest, EvalResult]
  reconfigure: [ReconfigureRequest, ReconfigureResult]
  mute: [MuteRequest, Done]
  checkpoint: [Record<string, never>, CheckpointResult]
}
export type CommandName = keyof Commands
export const COMMANDS = [
  'join',
  'invite',
  'leave',
  'share',
  'fetch',
  'pause',
  'resume',
  'stop',
  'eval',
  'reconfigure',
  'mute',
  'checkpoint',
] as const satisfies CommandName[]

/** One line of a streamed answer. The last one is `result` or `error`. */
export type StreamLine<Result> =
  | ({ type: 'progress' } & Progress)
  | { type: 'result'; result: Result }
  | { type: 'error'; error: ErrorBody }

/** Every answer that is not 2xx. */
export interface ErrorBody {
  code: ErrorCode
  message: string
  hint?: string
}

/** GET /v1/series?name=&from=&to=&points=: downsampled by the node, each point the mean of an equal share of the time. */
export interface Series {
  v: 1
  name: string
  unit: string
  points: SeriesPoint[]
}
