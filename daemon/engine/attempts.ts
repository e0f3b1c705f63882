// A `generate` call that may have to be begun again, with less memory or on another device: sequences that have ended are not
// written again, and what was told of the others is not told twice.

import type { DrawnToken, GenerateRequest, Sample } from './engine.ts'

export interface Told {
  onToken?: ((drawn: DrawnToken) => void) | undefined
  onFinish?: ((sample: number, written: Sample) => void) | undefined
}

export interface Attempt extends Told {
  /** What is left to write. */
  request: GenerateRequest
  onFinish: (sample: number, written: Sample) => void
  /** Where samples of the whole request are in this one, for those that are. */
  placesOf(samples: readonly number[]): number[]
  /** The whole request's samples, once what was left is written. */
  joined(rest: readonly Sample[]): Sample[]
}

/** Each call gives the next attempt. */
export function createAttempts(whole: GenerateRequest, { onToken, onFinish }: Told): () => Attempt {
  const ended = new Map<number, Sample>()
  const told = new Map<number, number>()
  return () => {
    const left = whole.samples.flatMap((_, sample) => (ended.has(sample) ? [] : [sample]))
    const places = new Map(left.map((sample, place) => [sample, place]))
    const drawn = new Map<number, number>()
    return {
      request: { ...whole, samples: left.map((sample) => whole.samples[sample]!) },
      onToken:
        onToken &&
        (({ sample: place, token }) => {
          const sample = left[place]!
          const count = (drawn.get(sample) ?? 0) + 1
          drawn.set(sample, count)
          if (count <= (told.get(sample) ?? 0)) return
          told.set(sample, count)
          onToken({ sample, token })
        }),
      onFinish(place, written) {
        ended.set(left[place]!, written)
        onFinish?.(left[place]!, written)
      },
      placesOf: (samples) => samples.flatMap((sample) => places.get(sample) ?? []),
      joined: (rest) => whole.samples.map((_, sample) => ended.get(sample) ?? rest[places.get(sample)!]!),
    }
  }
}
