// How token losses are aggregated into the loss of a step. Every mode is a weighted sum over tokens with one
// denominator for the step, so that gradients computed separately for each author can be added.
//
// token_mean: mean over all tokens, so longer answers weigh more (DAPO).
// sequence_mean: mean over an answer's tokens, then over answers (GRPO as published).
// sequence_sum: sum over an answer's tokens, then mean over answers (with `gspo`: LUSPO).
// fixed_length: sequence_sum divided by the maximum answer length, so that no length is favoured (Dr. GRPO).
// Masked tokens, which an environment wrote, do not count, nor do answers without any token from the policy.

import type { Row } from './rows.ts'

export const AGGREGATIONS = ['token_mean', 'sequence_mean', 'sequence_sum', 'fixed_length'] as const
type AggregationMode = (typeof AGGREGATIONS)[number]

export interface Aggregation {
  mode: AggregationMode
  /** Maximum answer length in tokens. */
  length: number
}

export const TOKEN_MEAN: Aggregation = { mode: 'token_mean', length: 1 }

/** Factor on each token's loss in this row; undefined for 1. */
export function rowWeight({ mode }: Aggregation, row: Row): number | undefined {
  return mode === 'sequence_mean' ? 1 / Math.max(1, tokensOf(row)) : undefined
}

/** Denominator of the weighted sum over these rows; at least 1. */
export function denominatorOf({ mode, length }: Aggregation, rows: readonly Row[]): number {
  let [tokens, answers] = [0, 0]
  for (const row of rows) {
    const own = tokensOf(row)
    tokens += own
    if (own > 0) answers += 1
  }
  if (mode === 'token_mean') return Math.max(1, tokens)
  return Math.max(1, answers) * (mode === 'fixed_length' ? length : 1)
}

function tokensOf({ completion, columns: { mask } }: Row): number {
  if (mask === undefined) return completion.length
  return typeof mask === 'number' ? mask * completion.length : mask.reduce((sum, kept) => sum + kept, 0)
}
