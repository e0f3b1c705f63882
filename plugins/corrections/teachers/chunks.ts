// On-policy distillation from a teacher with other tokens. With p the student, q the teacher, and an answer cut into chunks
// c wherever a token of each ends at the same byte, the reverse KL is E_p[sum_c d_c], d_c = log p(c) - log q(c). With what
// comes after a chunk left out of its return, as usual in distillation, its gradient is
//
//   E_p[sum_c d_c grad log p(c)]   so that each token of a chunk gets   d_c grad log p(token)
//
// The batch's mean of d_c over tokens is its baseline, which changes no expectation: without it, a student that is far from
// its teacher would have all differences clipped alike. What is left is clipped to +-clip, and the token's importance weight
// is truncated at 2. Where a chunk is one token of each, this is
// the sampled-token form (Thinking Machines 2025, On-Policy Distillation), whose expectation is the gradient of the
// divergence that teachers with the same tokens give.
//
// GOLD (Patiño et al. 2025, General On-policy Logit Distillation) also cuts at common ends and sums log-probs within a
// chunk, but then compares whole distributions, by token where both vocabularies have it and by rank elsewhere. Here
// only the sampled chunk is compared: that needs no map between vocabularies and is noisier.

import {
  clamp,
  column,
  detach,
  type Expression,
  min,
  mul,
  ratio,
  sub,
} from '../../../protocol/plugin/expression/expression.ts'
import type { ChunkLogprobs } from '../../../protocol/plugin/index.ts'

const TRUNCATED = 2

/** The loss of a token in a chunk; `theirs` as in `readChunks`, and above it by the baseline. */
export function chunkLoss(theirs: Expression, { clip }: { clip: number }): Expression {
  const logprob = column('logprob')
  const weight = min(TRUNCATED, ratio(logprob, column('behaviour')))
  return mul(detach(mul(weight, clamp(sub(logprob, theirs), -clip, clip))), logprob)
}

export interface ReadChunks {
  /** For each token, the teacher's log-prob of its chunk less the student's of the chunk's other tokens, in nats. */
  theirs: Float32Array
  /** 1 for a token in a chunk, else 0. */
  counts: Float32Array
  /** Sum of d_c, in nats. */
  gap: number
  /** The same over tokens instead of chunks. */
  tokenGap: number
}

/** Mean of d_c over the tokens of all answers. */
export function baselineOf(answers: readonly ReadChunks[]): number {
  const tokens = answers.flatMap(({ counts }) => [...counts]).reduce((sum, one) => sum + one, 0)
  return answers.reduce((sum, { tokenGap }) => sum + tokenGap, 0) / Math.max(1, tokens)
}

/** `sampled`: the student's log-prob of each token. */
export function readChunks({ ends, logprobs }: ChunkLogprobs, sampled: Float32Array): ReadChunks {
  const theirs = new Float32Array(sampled.length)
  const counts = new Float32Array(sampled.length)
  let [gap, tokenGap] = [0, 0]
  let from = 0
  ends.forEach((end, c) => {
    const own = sampled.subarray(from, end)
    const sum = own.reduce((all, one) => all + one, 0)
    own.forEach((one, i) => {
      theirs[from + i] = logprobs[c]! - (sum - one)
    })
    counts.fill(1, from, end)
    gap += sum - logprobs[c]!
    tokenGap += own.length * (sum - logprobs[c]!)
    from = end
  })
  return { theirs, counts, gap, tokenGap }
}
