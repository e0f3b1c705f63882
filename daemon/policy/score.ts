// Log-probs of given tokens for any number of sequences, in bounded memory: sequences are split, and batched by length,
// so that the engine never holds more logits at once than the budget allows.

import type { DecoderSpec } from '../engine/decoder.ts'
import type { Score, Scorer } from '../engine/engine.ts'

export interface ScoredSequence {
  /** The context, which is not scored; at least one token. */
  conditioning: Int32Array
  /** The tokens to score; may be empty. */
  completion: Int32Array
}

/** Memory for one batch's logits and for the other arrays of that size. */
const LOGIT_BYTES = 512 * 1024 * 1024
/** Arrays of the logits' size that are alive at once: logits, exponentials and a spare. */
const LOGIT_COPIES = 3
const MAX_TOKENS = 2048
const MIN_TOKENS = 32

/** Most tokens of one batch. */
export function batchTokens({ vocabulary }: Pick<DecoderSpec, 'vocabulary'>): number {
  const fit = Math.floor(LOGIT_BYTES / (vocabulary * 4 * LOGIT_COPIES))
  return Math.max(MIN_TOKENS, Math.min(MAX_TOKENS, fit))
}

interface Piece extends ScoredSequence {
  sequence: number
  start: number
}

/** Log-probs under softmax(logits), in the order of `sequences`. */
export async function scoreSequences(
  sequences: readonly ScoredSequence[],
  { tokens }: { tokens: number },
  { engine }: { engine: Scorer },
): Promise<Score[]> {
  const scores = sequences.map(({ completion }) => ({
    logprobs: new Float32Array(completion.length),
    entropies: new Float32Array(completion.length),
    collisions: new Float32Array(completion.length),
  }))
  const pieces = sequences.flatMap((sequence, i) => piecesOf(sequence, i, tokens))
  pieces.sort((a, b) => lengthOf(a) - lengthOf(b))
  for (let from = 0; from < pieces.length; ) {
    let to = from + 1
    // Sorted by length: the next row is the longest so far and sets the width of the batch.
    while (to < pieces.length && (to + 1 - from) * lengthOf(pieces[to]!) <= tokens) to++
    const batch = pieces.slice(from, to)
    const done = await engine.score({ sequences: batch, temperature: 1 })
    batch.forEach(({ sequence, start }, i) => {
      scores[sequence]!.logprobs.set(done[i]!.logprobs, start)
      scores[sequence]!.entropies.set(done[i]!.entropies, start)
      scores[sequence]!.collisions.set(done[i]!.collisions, start)
    })
    from = to
  }
  return scores
}

/** Splits a long completion into parts. Each part is conditioned on everything before it. */
function piecesOf({ conditioning, completion }: ScoredSequence, sequence: number, most: number): Piece[] {
  const pieces: Piece[] = []
  for (let start = 0; start < completion.length; start += most) {
    const before = new Int32Array(conditioning.length + start)
    before.set(conditioning)
    before.set(completion.subarray(0, start), conditioning.length)
    pieces.push({ conditioning: before, completion: completion.slice(start, start + most), sequence, start })
  }
  return pieces
}

function lengthOf({ conditioning, completion }: ScoredSequence): number {
  return conditioning.length + completion.length
}
