// An engine inside its thread: the calls of the contract (`engine.ts`). Each engine implements them in its own
// `core.ts`. `worker.ts` serves a core, and `thread.ts` is the proxy in the daemon's thread.

import type { Weights } from './decoder.ts'
import type { DrawnToken, Engine, GenerateRequest, OptimizerState, Sample } from './engine.ts'

/** How a caller steers its `generate`. */
export interface Steering {
  /** Called between steps. */
  isAborted?: () => boolean
  /** Samples that were cut since the last call; called between steps. */
  newCuts?: () => readonly number[]
  onToken?: ((drawn: DrawnToken) => void) | undefined
  onFinish?: ((sample: number, written: Sample) => void) | undefined
}

/** A call of `generate`. It gets either an answer or an error. */
export interface GenerateCall {
  request: GenerateRequest
  steering: Steering
  answer(samples: Sample[]): void
  refuse(error: unknown): void
}

/** What a decoding asks for between two of its steps. */
export interface Decoding {
  /** The calls that came since the last time: their sequences join those that are being decoded. */
  newCalls(): readonly GenerateCall[]
  /** Awaited; true if it changed the weights. */
  takeWeights?: (() => Promise<boolean>) | undefined
}

/** The contract as a thread serves it. Calls that it can answer at once return no promise. */
export interface Core extends Omit<Engine, 'info' | 'generate' | 'weights' | 'setWeights' | 'optimizer'> {
  /**
   * Writes the samples of all calls that join, side by side, until each call is answered and no other has come. Rejects
   * if the engine fails; calls without an answer by then have none.
   */
  decode(decoding: Decoding): Promise<void>
  /** One call by itself. */
  generate(request: GenerateRequest, steering?: Steering & Pick<Decoding, 'takeWeights'>): Promise<Sample[]>
  /** A copy that the caller may keep or transfer. */
  weights(): Weights | Promise<Weights>
  setWeights(weights: Weights, version?: number): void | Promise<void>
  optimizer(): OptimizerState | Promise<OptimizerState>
}

/** `generate` by a core's `decode`. */
export function generateBy(decode: Core['decode']): Core['generate'] {
  return async (request, { takeWeights, ...steering } = {}) => {
    let samples: Sample[] | undefined
    let refused: { error: unknown } | undefined
    const call: GenerateCall = {
      request,
      steering,
      answer(written) {
        samples = written
      },
      refuse(error) {
        refused = { error }
      },
    }
    const calls = [call]
    await decode({ newCalls: () => calls.splice(0), takeWeights })
    if (refused) throw refused.error
    return samples!
  }
}
