// Events of a node, numbered from 1 without gaps in each run of a daemon. The stream (GET /v1/events) can be resumed with
// ?since=<id>, and sends a `gap` event if the reader missed some. The log and the run files for `waggle top --replay`
// contain the same objects, one JSON line each.

import type { Alert, CheckpointInfo, Evaluation, SharingVerdict, Snapshot } from './snapshot/index.ts'
import type { StateWord } from './state-word.ts'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** An event before the event log adds the envelope. */
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
  | { type: 'plugin'; kind: string; name: string; state: 'ok' | 'slow' | 'failing' | 'off'; message: string }
  | { type: 'log'; level: LogLevel; area: string; message: string; data?: Record<string, unknown> }
  /** The reader missed events `from` to `to`. Created by the server, without an ID. */
  | { type: 'gap'; from: number; to: number }
  /** Sent only if requested with ?snapshots=<ms>. Has no ID. */
  | { type: 'snapshot'; snapshot: Snapshot }

export const EVENT_TYPES = [
  'state',
  'step',
  'eval',
  'group',
  'refused',
  'peer',
  'checkpoint',
  'alert',
  'sharing',
  'guard',
  'plugin',
  'log',
] as const satisfies readonly EventBody['type'][]

export interface StepEvent {
  type: 'step'
  step: number
  version: number
  /** Metrics of the step by name, including those of plugins. */
  metrics: Record<string, number>
}

/** The number of foreign groups per batch has changed; says why. */
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

/** A guard acted to protect training. */
export interface GuardEvent {
  type: 'guard'
  /** One of a small fixed set, such as `gradient spike` or `roll-back`. */
  guard: string
  step: number
  /** One line: the observation and the action. */
  message: string
  /** The affected peers. */
  peers?: string[]
}

/** This node generated a group, or verified a foreign one. */
export interface GroupEvent {
  type: 'group'
  id: string
  origin: 'own' | 'foreign'
  /** Peer ID of the author. */
  author: string
  task: string
  seed: number
  difficulty: number
  version: number
  rewards: number[]
  /** How the prompt was presented: `base`, or a plugin's name for it. */
  arm?: string
}

export type PeerChange = 'found' | 'connected' | 'disconnected' | 'muted' | 'unmuted'

export interface Envelope {
  v: 1
  /** Counts from 1 in each run of a daemon; 0 for `gap` and `snapshot`, which are not logged. */
  id: number
  /** ms since the epoch by the node's clock. */
  time: number
}

export type Event = Envelope & EventBody
export type EventType = EventBody['type']
