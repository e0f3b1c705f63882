// What the daemon's thread and an engine's thread say to each other.

import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { Weights } from './decoder.ts'
import type {
  DescentRequest,
  DrawnToken,
  EngineInfo,
  GenerateRequest,
  GradientRequest,
  OpenRequest,
  Sample,
  ScoreRequest,
  TrainRequest,
} from './engine.ts'

export interface WorkerInput<Options> {
  options: Options
  /** Brings `Cut`s past the calls, which wait in turn. */
  cuts: MessagePort
}

/** A generate call that is to end early, or some of its samples. */
export interface Cut {
  id: number
  samples?: readonly number[] | undefined
}

/** What a thread finds out as it starts. */
export interface StartReport {
  info: EngineInfo
  /** The library loads into one thread of a process: further engines have to share this one. */
  oneThreadOnly: boolean
}

/** A thread may serve several engines, each with a core of its own. */
export type WorkerCall = { id: number; engine: number } & (
  | { method: 'open'; request: OpenRequest }
  | { method: 'generate'; request: GenerateRequest; tells: { tokens: boolean; finishes: boolean } }
  | { method: 'score'; request: ScoreRequest }
  | { method: 'train'; request: TrainRequest }
  | { method: 'gradient'; request: GradientRequest }
  | { method: 'keep'; request: { to: 'main' | 'side'; scale: number } }
  | { method: 'descend'; request: DescentRequest }
  | { method: 'setWeights'; request: { weights: Weights; version: number | undefined; isInFlight: boolean } }
  /** `start` gives a StartReport once the thread runs, where it has one. */
  | { method: 'start' | 'weights' | 'optimizer' | 'close'; request?: undefined }
)

export interface WorkerReply {
  id: number
  /** The call goes on. */
  drawn?: DrawnToken
  /** The call goes on. */
  finished?: { sample: number; written: Sample }
  /** To be told to a person; no answer to a call. */
  notice?: string
  value?: unknown
  error?: {
    code: ErrorCode
    message: string
    hint: string | undefined
    data: Record<string, unknown> | undefined
  }
}
