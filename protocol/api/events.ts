// What happened, one thing at a time. Events are numbered without holes from 1 for each run of a daemon; the stream
// (GET /v1/events) can be resumed with ?since=<id> and says `gap` where the reader missed some. The same objects, one
// JSON line each, make up the log and the run file that `waggle top --replay` plays.

import type { Alert, CheckpointInfo, Evaluation, SharingVerdict, Snapshot, StateWord } from './snapshot.ts'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** What a part of the node hands to the event log; the log adds the envelope. */
export type EventBody =
  | { type: 'state'; state: StateWord; detail?: string }
  | StepEvent
  | ({ type: 'eval' } & Evaluation)
  | GroupEvent
  | { type: 'refused'; peer: string; reason: string; task?: string }
  | { type: 'peer'; peer: string; name: string; change: PeerChange; address?: string; reason?: string }
  | ({ type: 'checkpoint' } & CheckpointInfo)
  | ({ type: 'alert' } & Alert)
  | SharingEvent
  | GuardEvent
  | { type: 'plugin'; kind: string; name: string; state: 'ok' | 'slow' | 'off'; message: string }
  | { type: 'log'; level: LogLevel; area: string; message: string; data?: Record<string, unknown> }
  /** The reader missed events `from` to `to`. Made by the server, never by the node; has no number of its own. */
  | { type: 'gap'; from: number; to: number }
  /** A coalesced snapshot, on the stream only if asked for with ?snapshots=<ms>. Has no number of its own. */
  | { type: 'snapshot'; snapshot: Snapshot }

export interface StepEvent {
  type: 'step'
  step: number
  version: number
  /** Numbers about the step under their own names, plugins' included. */
  metrics: Record<string, number>
}

/** The number of foreign groups in a batch changed, and why. */
export interface SharingEvent {
  type: 'sharing'
  step: number
  before: number
  foreign: number
  verdict: SharingVerdict
  effect?: number
  low?: number
  high?: number
}

/** A guard kept training from going wrong. */
export interface GuardEvent {
  type: 'guard'
  /** Name of a small fixed set, such as `gradient spike` or `roll-back`. */
  guard: string
  step: number
  /** One line: what was seen and what was done. */
  message: string
  /** Peers that it concerns. */
  peers?: string[]
}

/** A group was generated here or came in and was verified. */
export interface GroupEvent {
  type: 'group'
  id: string
  origin: 'own' | 'foreign'
  /** Peer ID of who wrote it. */
  author: string
  task: string
  seed: number
  difficulty: number
  version: number
  rewards: number[]
  /** How it was presented: `base`, or a plugin's word. */
  arm?: string
}

export type PeerChange = 'found' | 'connected' | 'disconnected' | 'muted' | 'unmuted'

export interface Envelope {
  v: 1
  /** Counts from 1 for each run of a daemon; 0 on `gap` and `snapshot`, which are not part of the log. */
  id: number
  /** ms since the epoch by the node's clock. */
  time: number
}

export type Event = Envelope & EventBody
export type EventType = EventBody['type']
