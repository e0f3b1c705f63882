// An engine inside its thread: the calls of the contract (`engine.ts`). Each engine implements them in its own
// `core.ts`. `worker.ts` serves a core, and `thread.ts` is the proxy in the daemon's thread.

import type { Weights } from './decoder.ts'
import type { DrawnToken, Engine, GenerateRequest, OptimizerState, Sample } from './engine.ts'

/** How a caller steers a running `generate`. */
export interface Steering {
  /** Called between steps. */
  isAborted?: () => boolean
  /** Samples that were cut since the last call; called between steps. */
  newCuts?: () => readonly number[]
  /** Awaited between steps; true if it changed the weights. */
  takeWeights?: () => Promise<boolean>
  onToken?: ((drawn: DrawnToken) => void) | undefined
  onFinish?: ((sample: number, written: Sample) => void) | undefined
}

/** The contract as a thread serves it. Calls that it can answer at once return no promise. */
export interface Core extends Omit<Engine, 'info' | 'generate' | 'weights' | 'setWeights' | 'optimizer'> {
  generate(request: GenerateRequest, steering?: Steering): Promise<Sample[]>
  /** A copy that the caller may keep or transfer. */
  weights(): Weights | Promise<Weights>
  setWeights(weights: Weights, version?: number): void | Promise<void>
  optimizer(): OptimizerState | Promise<OptimizerState>
}
