// Requests and responses of the control API: HTTP with JSON over a unix socket that only its owner can open. Long
// requests (join, eval, stop) stream progress as JSON lines if the client accepts NDJSON.

import type { ErrorCode } from '../errors.ts'
import type { ConversationsRequest, ConversationsResult } from './conversations.ts'
import type { Progress } from './phases.ts'
import type { CheckpointInfo, Evaluation, SeriesPoint } from './snapshot/index.ts'
import type { StateWord } from './state-word.ts'

export const NDJSON = 'application/x-ndjson'

/** Maximum size of a request's body, in bytes. */
export const MAX_REQUEST_BYTES = 64 * 1024

/** Maximum number of values of one metric label. */
export const MAX_METRIC_LABELS = 32

/** GET /v1/health: whether the node is alive, and its identity. No secrets. */
export interface Health {
  v: 1
  state: StateWord
  name: string
  peerId: string
  pid: number
  version: string
  /** Differs for each start of the daemon. A reader that notices a restart must start at event 0 again. */
  run: string
  /** ID of the newest event. */
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
  /** What became of the peer's trained weights. Absent from a relay. */
  weights?: WeightsMet
}

/** What a node did with the trained weights of a peer that it joined. */
export interface WeightsMet {
  /**
   * averaged: with its own. caught up: it stands where the peer stands. merged: it stands in the middle. given back: a
   * trial refused the peer's. on trial: that goes on. untrusted: the user does not vouch for the peer. other lineage:
   * the peer has none for this model. off: this node exchanges none. not yet: they had not come in time.
   */
  outcome:
    | 'averaged'
    | 'caught up'
    | 'merged'
    | 'given back'
    | 'on trial'
    | 'untrusted'
    | 'other lineage'
    | 'off'
    | 'not yet'
  /**
   * Of not yet, if it is known. limit: this node has used up its limit on weights for this hour. no answer: the peer sent
   * none when it was asked. behind: the peer has less work behind its weights.
   */
  why?: 'limit' | 'no answer' | 'behind'
  /** Held-out accuracy of this node before and after, if it tried the peer's weights. */
  before?: number
  after?: number
  /** The task that would have lost too much, if one would. */
  fallen?: { task: string; before: number; after: number }
  /** Peers that had sent weights. */
  peers?: number
}

export interface InviteResult {
  /** For `waggle join` on another node. Whoever has it may connect, so it must be kept secret. */
  invite: string
}

export interface ShareRequest {
  /** Absolute path of a file on the node's machine. It must not change until the node stops. */
  path: string
  /** IDs or names of the peers that may fetch it. Default: anyone who knows the source. */
  to?: string[]
}

export interface ShareResult {
  /** For `waggle get-file` on another node: the peer ID, a slash, and the digest of the file's digests. */
  source: string
  bytes: number
  /** IDs of the peers that may fetch it; absent if anyone may. */
  to?: string[]
}

export interface FetchRequest {
  /** What `waggle send-file` printed on the other node. */
  source: string
  /** Absolute path on the node's machine, which must not exist yet. Nothing loads the file by itself. */
  path: string
}

export interface FetchResult {
  path: string
  bytes: number
  /** Bytes left by an earlier attempt. */
  resumed: number
}

export interface EvalRequest {
  /** Names of tasks. Default: all tasks of the node. */
  tasks?: string[]
  /** Held-out prompts per task. Default: as configured. */
  promptsPerTask?: number
  /** Answers per prompt at temperature 1, for pass@k. Default: 1. */
  samples?: number
  /** Enable plugins that may act at test time, such as skill libraries. Default: the bare question. */
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
  /** Number of distinct prompts; fewer than requested if the level has no more. */
  prompts: number
  /** Answers per prompt at temperature 1. */
  samples: number
  /** Mean score of those answers; the interval is based on the number of prompts, not of answers. */
  sampled: Estimate
  /** Mean score of greedy answers. */
  greedy: Estimate
  /** pass@k for k = 1, 2, 4 ... up to `samples`: the probability that at least one of k answers is right. */
  passAtK: Record<string, Estimate>
  /** pass^k: the probability that all k answers are right. Absent from results of older nodes. */
  passAllK?: Record<string, Estimate>
  /** Smallest difference that two evaluations like this one detect with 80 % power; see `detectable`. */
  detectable?: { sampled: number; greedy: number }
}

export type EvalFigures = Pick<EvalPart, 'sampled' | 'greedy' | 'passAtK' | 'passAllK' | 'detectable'>

/** Measured on seeds that are never trained on, without hints or skills in the prompt unless `plugins` is set. */
export type EvalResult = Evaluation & {
  parts?: EvalPart[]
  /** Mean over tasks. */
  overall?: EvalFigures
  /** As in the request. */
  plugins?: boolean
}
export type CheckpointResult = CheckpointInfo

export interface AuditRequest {
  /** Peer ID, or the name that the node shows for it. Default: this node itself. */
  peer?: string
  /** All steps of the receipt instead of one at random. */
  all?: boolean
}

/** A step of a receipt, and what came of computing it again. */
export interface AuditedStep {
  /** The author's policy version before it. */
  step: number
  /**
   * passed: the same weights and moments, up to rounding. failed: others, or its batch is not what it says. unauditable:
   * this node cannot compute it, which is no suspicion. unserved: what the receipt names did not come.
   */
  outcome: 'passed' | 'failed' | 'unauditable' | 'unserved'
  /** Groups of its batch. */
  own: number
  foreign: number
  /** Heads of peers that were averaged in before it. */
  joined: number
  /** The weights before it are not those after the step before, although no head was averaged in. */
  isReplaced: boolean
  /** Equal bit for bit; otherwise within what other processors and builds differ by. */
  isSame?: boolean
  /** Cosine of both movements of the weights, and lengths of differences relative to what was computed here. */
  difference?: { cosine: number; movement: number; first: number; second: number }
  /** What failed, or why it cannot be audited. */
  detail?: string
}

export interface AuditResult {
  /** Whose receipt it is. */
  peer: string
  name: string
  isOwn: boolean
  /** Steps of the receipt. */
  steps: number
  audited: AuditedStep[]
  /** Whether its newest head follows from the weights that the receipt names; absent without a head. */
  head?: 'passed' | 'failed' | 'unserved'
  /** What computed the steps, and what computed them again. */
  build: string
  ownBuild: string
}

export interface MuteRequest {
  /** Peer ID, or the name that the node shows for it. */
  peer: string
  /** False: unmute. */
  on: boolean
}

export interface ReconfigureRequest {
  /** Config path -> value as text, until the node stops. Default: only reread the file. */
  settings?: Record<string, string>
}

export interface ReconfigureResult {
  changed: Array<{ path: string; from?: unknown; to?: unknown }>
  /** Changed keys that need a restart. */
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
  audit: [AuditRequest, AuditResult]
  reconfigure: [ReconfigureRequest, ReconfigureResult]
  mute: [MuteRequest, Done]
  checkpoint: [Record<string, never>, CheckpointResult]
  conversations: [ConversationsRequest, ConversationsResult]
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
  'audit',
  'reconfigure',
  'mute',
  'checkpoint',
  'conversations',
] as const satisfies CommandName[]

/** One line of a streamed answer. The last one is `result` or `error`. */
export type StreamLine<Result> =
  | ({ type: 'progress' } & Progress)
  | { type: 'result'; result: Result }
  | { type: 'error'; error: ErrorBody }

/** The body of every answer that is not 2xx. */
export interface ErrorBody {
  code: ErrorCode
  message: string
  hint?: string
}

/** GET /v1/series?name=&from=&to=&points=, downsampled by the node: each point is the mean over an equal interval. */
export interface Series {
  v: 1
  name: string
  unit: string
  points: SeriesPoint[]
}
