// Shared by all estimators: which rollouts count, basic statistics, and the bound on advantages.
//
// Handles all degenerate groups in one place. A rollout whose reward is not a finite number is left out of
// every statistic and gets 0. A group too small for a comparison gets zeros. A group of equal rewards gets zeros
// unless the method handles such groups. All advantages are finite numbers within the limit, because a single
// huge one would dominate the batch.

import { z } from 'zod'
import { type Group, isZeroSignal, type Rollout } from '../../../protocol/train/index.ts'

/** Setting: largest absolute advantage. */
export const limitSetting = z.number().positive().default(10)

export interface Rules {
  limit: number
  /** Groups with fewer scored rollouts get zeros. */
  fewest?: number
  /** True if the method also learns from groups of equal rewards. */
  seesZeroSignal?: boolean
}

export type Scores = number[][]

/** One number per rollout, computed from each group's scored rollouts only. */
export function perGroup(
  groups: readonly Group[],
  { limit, fewest = 2, seesZeroSignal = false }: Rules,
  estimate: (rewards: number[], rollouts: Rollout[]) => number[],
): Scores {
  return groups.map(({ rollouts }) => {
    const scored = rollouts.filter(isScored)
    const rewards = scored.map(({ reward }) => reward)
    const silent = scored.length < fewest || (!seesZeroSignal && isZeroSignal(rewards))
    const values = silent ? [] : estimate(rewards, scored)
    let next = 0
    return rollouts.map((rollout) => (isScored(rollout) ? bounded(values[next++] ?? 0, limit) : 0))
  })
}

export function isScored(rollout: Rollout): boolean {
  return Number.isFinite(rollout.reward)
}

export function bounded(value: number, limit: number): number {
  return Number.isNaN(value) ? 0 : Math.max(-limit, Math.min(limit, value))
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}

type Std = 'sample' | 'population'
export const stdSetting = z.enum(['sample', 'population']).default('sample')

/** Standard deviation; 0 if there are too few values. */
export function std(values: readonly number[], kind: Std = 'sample'): number {
  const divisor = values.length - (kind === 'sample' ? 1 : 0)
  if (divisor < 1) return 0
  const centre = mean(values)
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / divisor)
}

/** The lower median if the count is even, as in torch. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0
}

export interface Whitening {
  weight: (rollout: Rollout) => number
  epsilon: number
  onDeviation?: boolean
  limit: number
}

/**
 * Scales a batch's scores to mean 0 and variance 1. Each score has a weight: the row's token count, as in verl's
 * whitening over tokens, or 1 per row. Epsilon is added to the variance (verl) or to the deviation (TRL).
 * Rollouts without a reward are ignored and stay unchanged.
 */
export function whiten(
  groups: readonly Group[],
  scores: Scores,
  { weight, epsilon, onDeviation = false, limit }: Whitening,
): Scores {
  let [count, sum, squares] = [0, 0, 0]
  const each = (visit: (score: number, times: number) => void): void =>
    groups.forEach((group, g) => {
      group.rollouts.forEach((rollout, i) => {
        if (isScored(rollout)) visit(scores[g]![i]!, weight(rollout))
      })
    })
  each((score, times) => {
    count += times
    sum += score * times
  })
  const centre = count > 0 ? sum / count : 0
  each((score, times) => {
    squares += (score - centre) ** 2 * times
  })
  // Fewer than two values have no deviation.
  if (count < 2) return scores.map((row) => row.map(() => 0))
  const variance = squares / (count - 1)
  const scale = 1 / (onDeviation ? Math.sqrt(variance) + epsilon : Math.sqrt(variance + epsilon))
  return scores.map((row, g) =>
    row.map((score, i) => (isScored(groups[g]!.rollouts[i]!) ? bounded((score - centre) * scale, limit) : 0)),
  )
}
