// The compute engine of a node. It holds one policy's weights and can sample from it (sampler.ts) and train it
// (trainer.ts). These are two contracts because something else may serve either of them, such as a remote sampler.
//
// An engine knows tensors and token ids. It does not know text, tasks, advantage estimators, mixing rules or
// peers. It serves its calls one after another in its own thread, so that the caller's event loop stays free. Only calls of
// `generate` run together: one that comes while another runs is decoded beside it, unless a call of another kind is between
// them.

import type { DecoderSpec } from './decoder.ts'
import type { Sampler } from './sampler.ts'
import type { BaseWeights } from './stored/stored.ts'
import type { OptimizerState, Trainer } from './trainer.ts'

export type * from './sampler.ts'
export type * from './trainer.ts'

export interface EngineInfo {
  kind: string
  device: string
  /** Why this device was chosen, for people. */
  reason: string
  threads: number
}

export interface OpenRequest {
  spec: DecoderSpec
  /** Matrices that are not trained may be stored in fewer bits. */
  weights: BaseWeights
  /** First and second moments of AdamW, and the number of steps they have seen. Zero if left out. */
  optimizer?: OptimizerState
  /** Version of these weights; samples carry it. 0 if left out. */
  version?: number
  /** The text of each token id by itself. Stop strings need it. */
  pieces?: readonly string[]
}

/** An engine that can end its thread while nobody needs it. */
export interface Resting {
  /**
   * Ends the thread, and forgets weights, optimizer and slots. The next call starts one again, and opens it with what
   * `reopen` resolves to; if that fails, the call does. Has no effect while calls run.
   */
  rest(reopen: () => Promise<OpenRequest>): Promise<void>
  /** Resolves once it runs. */
  wake(): Promise<void>
}

/** Sampler and trainer over one copy of the weights. */
export type Engine = Sampler & Trainer
