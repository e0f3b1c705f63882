// A `generate` call that may have to be restarted, with less memory or on another device. Sequences that have ended are
// not sampled again, and the caller gets each token only once.

import type { DrawnToken, GenerateRequest, Sample } from '../engine.ts'

export interface Told {
  onToken?: ((drawn: DrawnToken) => void) | undefined
  onFinish?: ((sample: number, written: Sample) => void) | undefined
}

export interface Attempt extends Told {
  /** Asks for the samples that are still missing. */
  request: GenerateRequest
  onFinish: (sample: number, written: Sample) => void
  /** The indices in this attempt of samples of the whole request. Samples that have ended are left out. */
  indicesOf(samples: readonly number[]): number[]
  /** All samples of the whole request, given those of this attempt. */
  joined(rest: readonly Sample[]): Sample[]
}

/** Each call of the returned function starts the next attempt. */
export function createAttempts(whole: GenerateRequest, { onToken, onFinish }: Told): () => Attempt {
  const ended = new Map<number, Sample>()
  const told = new Map<number, number>()
  return () => {
    const left = whole.samples.flatMap((_, sample) => (ended.has(sample) ? [] : [sample]))
    const places = new Map(left.map((sample, index) => [sample, index]))
    const drawn = new Map<number, number>()
    return {
      request: { ...whole, samples: left.map((sample) => whole.samples[sample]!) },
      onToken:
        onToken &&
        (({ sample: index, ...token }) => {
          const sample = left[index]!
          const count = (drawn.get(sample) ?? 0) + 1
          drawn.set(sample, count)
          if (count <= (told.get(sample) ?? 0)) return
          told.set(sample, count)
          onToken({ sample, ...token })
        }),
      onFinish(index, written) {
        ended.set(left[index]!, written)
        onFinish?.(left[index]!, written)
      },
      indicesOf: (samples) => samples.flatMap((sample) => places.get(sample) ?? []),
      joined: (rest) => whole.samples.map((_, sample) => ended.get(sample) ?? rest[places.get(sample)!]!),
    }
  }
}
