// What the daemon's thread and an engine's thread say to each other.

import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { Weights } from './decoder.ts'
import type { GenerateRequest, OpenRequest, ScoreRequest, TrainRequest } from './engine.ts'

export interface WorkerInput<Options> {
  options: Options
  /** Ids of generate calls that are to end early. */
  aborts: MessagePort
}

export type WorkerCall = { id: number } & (
  | { method: 'open'; request: OpenRequest }
  | { method: 'generate'; request: GenerateRequest }
  | { method: 'score'; request: ScoreRequest }
  | { method: 'train'; request: TrainRequest }
  | { method: 'setWeights'; request: Weights }
  /** `start` gives what the core found out about its device, once it runs. */
  | { method: 'start' | 'weights' | 'optimizer' | 'close'; request?: undefined }
)

export interface WorkerReply {
  id: number
  value?: unknown
  error?: { code: ErrorCode; message: string; hint: string | undefined }
}
