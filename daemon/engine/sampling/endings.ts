// Ends the sequences of a `generate`, for every engine. Each sequence ends once: by itself, by a cut, or with the call.
// A sequence can be cut before it has begun.

import type { Steering } from '../core.ts'
import type { Sample } from '../engine.ts'
import type { Sequence, Writer } from './writer.ts'

export interface Endings {
  has(sample: number): boolean
  end(sequence: Sequence): void
  /** Applies the cuts since the last call. `stop` frees the slot of a running sequence and returns the sequence. */
  takeCuts(stop: (sample: number) => Sequence | undefined): void
  isAborted(): boolean
  /** True once all samples have ended. */
  readonly isComplete: boolean
  /** All samples in the order of the request. Sequences that are still running are ended. */
  results(): Sample[]
}

export function createEndings(
  samples: number,
  { write, steering }: { write: Writer; steering: Steering },
): Endings {
  const { isAborted = () => false, newCuts = () => [], onFinish } = steering
  const results = new Map<number, Sample>()
  const end = (sequence: Sequence): void => {
    const written = sequence.finish()
    results.set(sequence.sample, written)
    onFinish?.(sequence.sample, written)
  }
  return {
    has: (sample) => results.has(sample),
    end,
    takeCuts(stop) {
      for (const sample of newCuts()) {
        const isOne = Number.isInteger(sample) && sample >= 0 && sample < samples
        if (isOne && !results.has(sample)) end(stop(sample) ?? write(sample))
      }
    },
    isAborted,
    get isComplete() {
      return results.size === samples
    },
    results() {
      for (let sample = 0; sample < samples; sample++) if (!results.has(sample)) end(write(sample))
      return Array.from({ length: samples }, (_, sample) => results.get(sample)!)
    },
  }
}
