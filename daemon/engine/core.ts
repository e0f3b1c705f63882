// An engine inside its own thread: the calls of the contract (`engine.ts`). Each engine implements them in its
// `core.ts`. `worker.ts` serves a core; `thread.ts` is the proxy in the daemon's thread.

import type { DrawnToken, Engine, GenerateRequest, OptimizerState, Sample } from './engine.ts'
import type { Weights } from './weights.ts'

/** How a caller steers its `generate`. */
export interface Steering {
  /** Called between steps. */
  isAborted?: () => boolean
  /** Samples cut since the last call. Called between steps. */
  newCuts?: () => readonly number[]
  onToken?: ((drawn: DrawnToken) => void) | undefined
  onFinish?: ((sample: number, written: Sample) => void) | undefined
}

/** A call of `generate`. It gets either an answer or an error, never both. */
export interface GenerateCall {
  request: GenerateRequest
  steering: Steering
  answer(samples: Sample[]): void
  refuse(error: unknown): void
}

/** What a running `decode` asks its caller for between two steps. */
export interface Decoding {
  /** Calls that arrived since the last time. Their sequences join those already being decoded. */
  newCalls(): readonly GenerateCall[]
  /** Takes on new weights, if there are any. Awaited; resolves to true if the weights changed. */
  takeWeights?: (() => Promise<boolean>) | undefined
}

/** The contract as a thread serves it. Calls that can be answered at once return no promise. */
export interface Core
  extends Omit<Engine, 'info' | 'generate' | 'weights' | 'setWeights' | 'optimizer' | 'processorSeconds'> {
  /**
   * Decodes the samples of all calls side by side, including calls that join later. Resolves once every call is
   * answered and no new one has come. Rejects if the engine fails; calls not answered by then get no answer.
   */
  decode(decoding: Decoding): Promise<void>
  /** Serves a single call. */
  generate(request: GenerateRequest, steering?: Steering & Pick<Decoding, 'takeWeights'>): Promise<Sample[]>
  /** A copy, which the caller may keep or transfer. */
  weights(): Weights | Promise<Weights>
  setWeights(weights: Weights, version?: number): void | Promise<void>
  optimizer(): OptimizerState | Promise<OptimizerState>
}

/** Implements `generate` with a core's `decode`. */
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
