// A token row while it is written: one sequence of training, without its conditioning. Tokens of the policy and of others
// (environments, users, the template) are appended in turn; `readRow` gives the row as rollouts have it.

import type { Rollout, Segment } from './rollout.ts'

export interface TokenRow {
  tokens: number[]
  /** Of each token, under the distribution that it was drawn from, in nats; 0 for tokens of others. */
  logprobs: number[]
  /** In nats; 0 for tokens of others. */
  entropies: number[]
  /** 1 for tokens that the policy wrote in this row by itself, 0 for all others. */
  mask: number[]
  /** In order and without gaps. Tokens of others have the version of the token before them. */
  segments: Segment[]
}

/** Tokens as a sampler returns them. */
export interface WrittenTokens {
  tokens: Int32Array
  logprobs: Float32Array
  entropies: Float32Array
  /** Of the weights that drew them, or the first of them if there are segments. */
  version: number
  segments?: readonly Segment[]
  /** Of each token: the probability that the policy gave to all that a grammar allowed; missing without a grammar. */
  allowed?: Float32Array
}

export function beginRow(): TokenRow {
  return { tokens: [], logprobs: [], entropies: [], mask: [], segments: [] }
}

/**
 * Least probability of what was allowed for a token to be the policy's own. Below it, a grammar has had a say, as an
 * environment has: the log-prob is not that of the policy, and the token is outside the loss. Whether a token counts
 * depends on what stands before it and not on the token, so those that count are drawn from the policy as ever.
 */
const OWN = 1 - 5e-5

/** Appends tokens that the policy wrote. Tokens of others at the start of the row get the first version. */
export function appendWritten(row: TokenRow, written: WrittenTokens): void {
  const { tokens, logprobs, entropies, version } = written
  // The weights may have changed while they were drawn.
  const parts = written.segments ?? [{ version, length: tokens.length }]
  if (row.segments.length === 0) cover(row.segments, parts[0]!.version, row.tokens.length)
  for (const [i, token] of tokens.entries()) {
    row.tokens.push(token)
    row.logprobs.push(logprobs[i]!)
    row.entropies.push(entropies[i]!)
    row.mask.push((written.allowed?.[i] ?? 1) >= OWN ? 1 : 0)
  }
  for (const part of parts) cover(row.segments, part.version, part.length)
}

/** Appends tokens that the policy did not write here. They are outside the loss. */
export function appendGiven(row: TokenRow, tokens: Iterable<number>): void {
  const before = row.tokens.length
  for (const token of tokens) {
    row.tokens.push(token)
    row.logprobs.push(0)
    row.entropies.push(0)
    row.mask.push(0)
  }
  const last = row.segments.at(-1)
  if (last) cover(row.segments, last.version, row.tokens.length - before)
}

/** Drops all tokens but the first `length`. */
export function cutRow(row: TokenRow, length: number): void {
  for (const name of ['tokens', 'logprobs', 'entropies', 'mask'] as const) row[name].length = length
  row.segments = segmentsUpTo(row.segments, length)
}

/** The row as rollouts have it. */
export type ReadRow = Pick<Rollout, 'tokens' | 'behaviourLogprobs' | 'entropies' | 'segments' | 'lossMask'>

/** The row as a rollout has it, with its loss mask if `isMasked`. */
export function readRow(
  { tokens, logprobs, entropies, mask, segments }: TokenRow,
  isMasked: boolean,
): ReadRow {
  return {
    tokens: Int32Array.from(tokens),
    behaviourLogprobs: Float32Array.from(logprobs),
    entropies: Float32Array.from(entropies),
    segments: segments.map((segment) => ({ ...segment })),
    ...(isMasked ? { lossMask: Uint8Array.from(mask) } : {}),
  }
}

/** A row that was read, to be continued. Without a loss mask, the policy wrote all of it. */
export function reopenRow({ tokens, behaviourLogprobs, entropies, segments, lossMask }: ReadRow): TokenRow {
  const or = (values: ArrayLike<number> | undefined, other: number): number[] =>
    values ? Array.from(values) : new Array(tokens.length).fill(other)
  return {
    tokens: [...tokens],
    logprobs: or(behaviourLogprobs, 0),
    entropies: or(entropies, 0),
    mask: or(lossMask, 1),
    segments: segments.map((segment) => ({ ...segment })),
  }
}

/** Says that the next `length` tokens after the last segment are of this version. */
export function cover(segments: Segment[], version: number, length: number): void {
  const last = segments.at(-1)
  if (length === 0) return
  if (last?.version === version) last.length += length
  else segments.push({ version, start: last ? last.start + last.length : 0, length })
}

/** The segments of the first `length` tokens. */
export function segmentsUpTo(segments: readonly Segment[], length: number): Segment[] {
  return segments
    .filter(({ start }) => start < length)
    .map((one) => ({ ...one, length: Math.min(one.length, length - one.start) }))
}
