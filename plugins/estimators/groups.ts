// What all estimators share: which rollouts count, small statistics, and the bound on what they may say.
//
// What goes wrong with groups, in one place. A rollout whose reward is not a finite number is left out of
// every statistic and gets 0. A group too small to compare gets zeros. A group of equal rewards gets zeros unless
// the method wants to see it. No advantage leaves here above the limit or as anything but a number, since a blown-up
// one would own the batch (section 8.5).

import { z } from 'zod'
import { type Group, isZeroSignal, type Rollout } from '../../protocol/train/index.ts'

/** Setting: largest size of an advantage. */
export const limitSetting = z.number().positive().default(10)

export interface Rules {
  limit: number
  /** Groups with fewer scored rollouts get zeros. */
  fewest?: number
  /** True if the method has something to say about groups of equal reward. */
  seesZeroSignal?: boolean
}

export type Scores = number[][]

/** One number per rollout, from each group's scored rollouts alone. */
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

export type Std = 'sample' | 'population'
export const stdSetting = z.enum(['sample', 'population']).default('sample')

/** Standard deviation; 0 where there are too few values for it. */
export function std(values: readonly number[], kind: Std = 'sample'): number {
  const divisor = values.length - (kind === 'sample' ? 1 : 0)
  if (divisor < 1) return 0
  const centre = mean(values)
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / divisor)
}

/** Lower middle if the count is even, as torch has it. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0
}

/**
 * Makes a batch's scores mean 0 and variance 1, each counted `weight` times: the row's token count, as verl's
 * whitening over tokens does, or 1 a row. Rollouts without a reward neither count nor change.
 */
export function whiten(
  groups: readonly Group[],
  scores: Scores,
  { weight, epsilon, limit }: { weight: (rollout: Rollout) => number; epsilon: number; limit: number },
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
  // Fewer than two values have no spread to divide by.
  if (count < 2) return scores.map((row) => row.map(() => 0))
  const scale = 1 / Math.sqrt(squares / (count - 1) + epsilon)
  return scores.map((row, g) =>
    row.map((score, i) => (isScored(groups[g]!.rollouts[i]!) ? bounded((score - centre) * scale, limit) : 0)),
  )
}
