// How the losses of single tokens become the loss of a step. All are a weighted sum over tokens, divided by a number that
// adds up over rows, so that authors' gradients computed apart can be added.
//
// token_mean: every token counts the same, long answers for more (DAPO). sequence_mean: the mean over an answer's tokens, then
// over answers (GRPO as published). sequence_sum: the sum over an answer's tokens, then the mean over answers (with `gspo`: LUSPO).
// fixed_length: that, divided by the largest length that an answer can have, so that no length is favoured (Dr. GRPO).
// Tokens that are not the policy's own count nowhere, nor do answers without any token that is.

import type { Row } from './rows.ts'

export const AGGREGATIONS = ['token_mean', 'sequence_mean', 'sequence_sum', 'fixed_length'] as const
export type AggregationMode = (typeof AGGREGATIONS)[number]

export interface Aggregation {
  mode: AggregationMode
  /** Tokens of the longest answer that there can be. */
  length: number
}

export const TOKEN_MEAN: Aggregation = { mode: 'token_mean', length: 1 }

/** What each token's loss is multiplied with; undefined for 1. */
export function rowWeight({ mode }: Aggregation, row: Row): number | undefined {
  return mode === 'sequence_mean' ? 1 / Math.max(1, tokensOf(row)) : undefined
}

/** What the weighted sum over these rows is divided by; at least 1. */
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
