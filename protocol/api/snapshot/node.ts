// What a node is: its model, engine, tasks, plugins, newest checkpoint and alerts, as parts of a snapshot.

import type { TaughtInfo } from '../../plugin/teacher.ts'

export interface NodeInfo {
  name: string
  peerId: string
  /** Waggle's own version. */
  version: string
  pid: number
  startedAt: number
  home: HomePaths
}

/** Where this node's files are; absolute. */
export interface HomePaths {
  config: string
  state: string
  checkpoints: string
  logs: string
  socket: string
}

export interface EngineInfo {
  kind: string
  device: string
  /** Why this device was chosen. */
  reason?: string
  threads?: number
}

export interface ModelInfo {
  name: string
  /** The name that its publisher gave it, or that of its folder or file. */
  title?: string
  path?: string
  parameters?: number
  /** Rank of the adapter that is trained; null if all parameters are. */
  adapterRank?: number | null
  maxCompletionTokens?: number
  policy: PolicyInfo
}

export interface PolicyInfo {
  lineage: string
  tokenizer?: string
  version: number
}

export interface TaskInfo {
  name: string
  difficulty: number
  /** Range of difficulties. Equal if the task has only one. */
  min: number
  max: number
}

export interface PluginInfo {
  kind: string
  name: string
  /** `slow`: recently exceeded its time limit; `failing`: threw or returned an invalid result. */
  state: 'ok' | 'slow' | 'failing' | 'off'
  summary?: string
  /** Mean over recent steps. */
  msPerStep?: number
  strikes?: number
  message?: string
  /** What it does at present, one line each: `taught` in words, of those that are listened to. */
  doing?: string[]
  taught?: TaughtInfo[]
}

export interface CheckpointInfo {
  step: number
  time: number
  path: string
  bytes?: number
}

export interface Alert {
  time: number
  level: 'notice' | 'warning' | 'failure'
  /** One line. */
  message: string
  /** What to do, if anything. */
  action?: string
  /** Identifies the problem, so that it is shown only once. */
  key: string
}
