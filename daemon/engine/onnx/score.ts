// Log-probs, entropies and collisions of given completions, and on request hidden states and places: only the forward
// pass of training.

import type { DecoderSpec } from '../decoder.ts'
import type { Score, ScoreRequest, TopTokens } from '../engine.ts'
import { checkSequences } from '../inputs.ts'
import { pack } from './batch/pack.ts'
import { plan } from './batch/plan.ts'
import { partsFor } from './decoder/parts.ts'
import { buildScore } from './decoder/training.ts'
import type { Feeds } from './runtime/runtime.ts'
import { inputsOf, type StepParts } from './step.ts'

export async function score(
  { sequences, temperature, hidden = false, pit = false, top: wanted, onProgress }: ScoreRequest,
  { spec, parameters }: { spec: DecoderSpec; parameters: Feeds },
  { runtime, microBatchTokens, checkpointing, scaling }: Omit<StepParts, 'now'>,
): Promise<Score[]> {
  const scores: Score[] = new Array(sequences.length)
  checkSequences(sequences, spec)
  const top = wanted && Math.min(wanted, spec.vocabulary)
  const batches = plan(sequences, { tokens: microBatchTokens })
  for (const [i, batch] of batches.entries()) {
    const packed = pack(sequences, batch)
    const { parts, sizes } = partsFor(batch.shape, spec, {
      isShort: checkpointing,
      isOnDevice: runtime.keepsOnDevice,
    })
    // Computed exactly as in the forward pass of training, including its rounding.
    const isHalf = scaling !== undefined
    const graph = await runtime.compile(
      `score ${JSON.stringify(parts)} ${hidden} ${pit} ${top}`,
      () => buildScore(spec, { parts, hidden, pit, ...(top && { top }) }),
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
        ...(top && { top: topTokens(of('top', 2 * top), top) }),
        ...(pit && { pit: { above: of('above'), ties: of('ties') } }),
      }
    }
    onProgress?.((i + 1) / batches.length)
  }
  return scores
}

/** From rows of `count` log-probs and as many ids. */
function topTokens(rows: Float32Array, count: number): TopTokens {
  const places = rows.length / (2 * count)
  const tokens = new Int32Array(places * count)
  const logprobs = new Float32Array(places * count)
  for (let place = 0; place < places; place++) {
    const at = 2 * count * place
    logprobs.set(rows.subarray(at, at + count), place * count)
    tokens.set(rows.subarray(at + count, at + 2 * count), place * count)
  }
  return { count, tokens, logprobs }
}
