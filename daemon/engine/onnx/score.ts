// Log-probs, entropies and collisions of given completions, and hidden states where they are asked for: the
// forward part of training alone.

import type { DecoderSpec } from '../decoder.ts'
import type { Score, ScoreRequest } from '../engine.ts'
import { checkSequences } from '../inputs.ts'
import { pack } from './batch/pack.ts'
import { plan } from './batch/plan.ts'
import { buildScore } from './decoder/training.ts'
import type { Feeds } from './runtime.ts'
import { headOf, inputsOf, type StepParts } from './step.ts'

export async function score(
  { sequences, temperature, hidden = false }: ScoreRequest,
  { spec, parameters }: { spec: DecoderSpec; parameters: Feeds },
  { runtime, microBatchTokens, scaling }: Omit<StepParts, 'now'>,
): Promise<Score[]> {
  const scores: Score[] = new Array(sequences.length)
  checkSequences(sequences, spec)
  for (const batch of plan(sequences, { tokens: microBatchTokens })) {
    const packed = pack(sequences, batch)
    const { headParts, sizes } = headOf(batch, spec)
    // As the forward part of training, down to its rounding.
    const isHalf = scaling !== undefined
    const graph = await runtime.compile(
      `score ${headParts} ${hidden}`,
      () => buildScore(spec, { headParts, hidden }),
      { isHalf },
    )
    const out = await graph.run({ ...parameters, ...inputsOf(packed, temperature) }, sizes)
    for (const { member, start, length } of packed.rows) {
      scores[member] = {
        logprobs: out.logprob!.slice(start, start + length),
        entropies: out.entropy!.slice(start, start + length),
        collisions: out.collision!.slice(start, start + length),
        ...(hidden && { hidden: out.hidden!.slice(start * spec.width, (start + length) * spec.width) }),
      }
    }
  }
  return scores
}
