// A node's compute engine. It holds one policy's weights; it can sample from the policy (sampler.ts) and train it
// (trainer.ts). These are two contracts because something else may serve either of them, such as a remote sampler.
//
// An engine knows tensors and token ids. It does not know text, tasks, advantage estimators or peers. It
// runs in its own thread, so that the caller's event loop stays free, and serves its calls one after another. Only
// calls of `generate` overlap: one that arrives while another runs is decoded beside it, unless a call of another kind
// came between them.

import type { OpenRequest } from './opening.ts'
import type { Sampler } from './sampler.ts'
import type { Trainer } from './trainer.ts'

export type * from './opening.ts'
export type * from './sampler.ts'
export type * from './trainer.ts'
export type * from './weights.ts'

/** An engine that can end its thread while nobody needs it. */
export interface Resting {
  /**
   * Ends the thread and drops weights, optimizer and slots. The next call starts a new thread and opens it with what
   * `reopen` resolves to; if that fails, so does the call. Does nothing while calls are running.
   */
  rest(reopen: () => Promise<OpenRequest>): Promise<void>
  /** Resolves once the engine runs. */
  wake(): Promise<void>
}

/** An engine that says what it costs. */
export interface Metered {
  /**
   * Processor seconds of its thread or process since that began, other engines in it included. A thread does not see the
   * threads of its library: with `info.threads` above one, this is its own time so many times, which is no less.
   */
  processorSeconds(): Promise<number>
}

/** Sampler and trainer over one copy of the weights. */
export type Engine = Sampler & Trainer & Metered
