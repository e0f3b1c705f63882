// Log-probs, entropies and collisions of given completions, and on request hidden states, places and likeliest tokens.

import type { Score, ScoreRequest } from '../engine.ts'
import { checkSequences } from '../inputs.ts'
import type { Tensor } from './backend.ts'
import { cut } from './batch.ts'
import type { Model } from './decoder.ts'
import { scoreStatistics } from './statistics.ts'

export function score(
  { sequences, temperature, hidden = false, pit = false, top: wanted }: ScoreRequest,
  model: Model,
  microBatchTokens: number,
): Score[] {
  const { tf, spec } = model
  const top = wanted && Math.min(wanted, spec.vocabulary)
  checkSequences(sequences, spec)
  const scores: Score[] = new Array(sequences.length)
  for (const batch of cut(sequences, microBatchTokens)) {
    tf.tidy(() => {
      const found = scoreStatistics(model, batch, temperature, { pit, ...(top && { top }) })
      const read = (values: Tensor): Float32Array => values.dataSync() as Float32Array
      const [logprobs, entropies, collisions] = [found.logprob, found.entropy, found.collision].map(read)
      const places = found.above && found.ties && { above: read(found.above), ties: read(found.ties) }
      const likeliest = found.top && { ids: found.top.indices.dataSync(), logprobs: read(found.top.values) }
      const states = hidden ? read(found.hidden) : undefined
      batch.members.forEach((member, row) => {
        const start = row * batch.width
        const end = start + sequences[member]!.completion.length
        const of = (values: Float32Array, size = 1): Float32Array =>
          new Float32Array(values.subarray(start * size, end * size))
        scores[member] = {
          logprobs: of(logprobs!),
          entropies: of(entropies!),
          collisions: of(collisions!),
          ...(states && { hidden: of(states, spec.width) }),
          ...(likeliest &&
            top && {
              top: {
                count: top,
                tokens: Int32Array.from(likeliest.ids.subarray(start * top, end * top)),
                logprobs: of(likeliest.logprobs, top),
              },
            }),
          ...(places && { pit: { above: of(places.above), ties: of(places.ties) } }),
        }
      })
    })
  }
  return scores
}
