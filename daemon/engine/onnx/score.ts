// Log-probs, entropies and collisions of given completions, and on request hidden states and places: only the forward
// pass of training.

import type { DecoderSpec } from '../decoder.ts'
import type { Score, ScoreRequest } from '../engine.ts'
import { checkSequences } from '../inputs.ts'
import { pack } from './batch/pack.ts'
import { plan } from './batch/plan.ts'
import { buildScore } from './decoder/training.ts'
import type { Feeds } from './runtime/runtime.ts'
import { headOf, inputsOf, type StepParts } from './step.ts'

export async function score(
  { sequences, temperature, hidden = false, pit = false, onProgress }: ScoreRequest,
  { spec, parameters }: { spec: DecoderSpec; parameters: Feeds },
  { runtime, microBatchTokens, checkpointing, scaling }: Omit<StepParts, 'now'>,
): Promise<Score[]> {
  const scores: Score[] = new Array(sequences.length)
  checkSequences(sequences, spec)
  const batches = plan(sequences, { tokens: microBatchTokens })
  for (const [i, batch] of batches.entries()) {
    const packed = pack(sequences, batch)
    const { headParts, sizes } = headOf(batch, spec, checkpointing)
    // Computed exactly as in the forward pass of training, including its rounding.
    const isHalf = scaling !== undefined
    const graph = await runtime.compile(
      `score ${headParts} ${hidden} ${pit}`,
      () => buildScore(spec, { headParts, hidden, pit }),
      { isHalf },
    )
    const out = await graph.run({ ...parameters, ...inputsOf(packed, temperature) }, sizes)
    for (const { member, start, length } of packed.rows) {
      const of = (name: string, width = 1): Float32Array =>
        out[name]!.slice(start * width, (start + length) * width)
      scores[member] = {
        logprobs: of('logprob'),
        entropies: of('entropy'),
        collisions: of('collision'),
        ...(hidden && { hidden: of('hidden', spec.width) }),
        ...(pit && { pit: { above: of('above'), ties: of('ties') } }),
      }
    }
    onProgress?.((i + 1) / batches.length)
  }
  return scores
}
