// The messages between the daemon's thread and an engine's thread.

import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../../../protocol/errors.ts'
import type { DrawnToken, GenerateRequest, Sample, Trainer } from '../engine.ts'
import type { EngineInfo, OpenRequest } from '../opening.ts'
import type { Weights } from '../weights.ts'

export interface WorkerInput<Options> {
  options: Options
  /** Carries `Cut`s, which overtake the waiting calls. */
  cuts: MessagePort
}

/** Ends a generate call, or some of its samples, early. */
export interface Cut {
  id: number
  samples?: readonly number[] | undefined
}

/** What a thread reports when it starts. */
export interface StartReport {
  info: EngineInfo
  /** The library can be loaded in only one thread of a process, so further engines must share this thread. */
  oneThreadOnly: boolean
}

/** Calls of the contract with one request and one answer. */
export const PLAIN_CALLS = [
  'score',
  'train',
  'gradient',
  'vectors',
  'combine',
  'dot',
  'norm',
  'step',
  'weights',
  'optimizer',
  'close',
] as const satisfies readonly (keyof Trainer)[]

export type PlainCall = (typeof PLAIN_CALLS)[number]

/** What a call of `generate` wants to hear while it runs. */
export interface Tells {
  tokens: boolean
  counts: boolean
  finishes: boolean
}

/** A thread may serve several engines, each with its own core. */
export type WorkerCall = { id: number; engine: number } & (
  | { method: 'open'; request: OpenRequest }
  | { method: 'generate'; request: GenerateRequest; tells: Tells }
  | {
      [Name in PlainCall]: {
        method: Name
        request?: Parameters<Trainer[Name]>[0]
        /** Whether to report how far the call is. */
        tellsProgress?: boolean
      }
    }[PlainCall]
  | { method: 'setWeights'; request: { weights: Weights; version: number | undefined; isInFlight: boolean } }
  /** `start` is answered once the thread runs, with its StartReport if there is one. */
  | { method: 'start' | 'processorSeconds'; request?: undefined }
)

export interface WorkerReply {
  id: number
  /** Tokens drawn by running calls. All tokens of a step go in one message. */
  drawn?: readonly (DrawnToken & { call: number })[]
  /** A sequence that has ended, while its call goes on. */
  finished?: { sample: number; written: Sample }
  /** How far a running call is: its share, or for `generate` the tokens drawn so far. */
  progress?: number
  /** A notice for the user, not an answer to a call. */
  notice?: string
  value?: unknown
  error?: {
    code: ErrorCode
    message: string
    hint: string | undefined
    data: Record<string, unknown> | undefined
  }
}
