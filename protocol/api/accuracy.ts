// Formats held-out accuracy with its confidence interval, since a few questions prove little. Used by the commands,
// the terminal UI and model cards.

import type { Estimate } from './requests.ts'
import type { Evaluation } from './snapshot/index.ts'
import { percent } from './text/format.ts'

/** 97.5 % quantile of the standard normal distribution. */
const Z = 1.959964
/** 80 % quantile. */
const Z_POWER = 0.841621

/** A share of `n` answers with its 95 % Wilson interval (1927), which is valid even for shares of 0 and 1. */
export function wilson(share: number, n: number): Estimate {
  if (n <= 0) return { value: share, low: 0, high: 1 }
  const centre = (share + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n)
  const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n ** 2))
  return {
    value: share,
    low: Math.max(0, Math.min(share, centre - half)),
    high: Math.min(1, Math.max(share, centre + half)),
  }
}

/** `41.8 % (38.8 to 44.9)`: share and 95 % interval. In whole percents if the interval is wider than ten points. */
export function accuracyText(share: number, n: number): string {
  const { low, high } = wilson(share, n)
  const digits = high - low > 0.1 ? 0 : 1
  const bare = (value: number): string => (100 * value).toFixed(digits)
  return `${percent(share, digits)} (${bare(low)} to ${bare(high)})`
}

/**
 * The smallest difference that two evaluations with this share and `n` prompts each detect at 95 % confidence with 80 %
 * power, assuming independent answers. Evaluations on the same questions detect smaller ones. The variance is computed
 * at the centre of Wilson's interval, so that a share of 0 or 1 does not count as certain.
 */
export function detectable(share: number, n: number): number {
  if (n <= 0) return 1
  const centre = (share + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n)
  return Math.min(1, (Z + Z_POWER) * Math.sqrt((2 * centre * (1 - centre)) / n))
}

/** Number of questions needed to detect `difference` with 80 % power, given that `questions` detect `shown`. */
export function questionsFor(
  difference: number,
  { questions, shown }: { questions: number; shown: number },
): number {
  return Math.ceil(questions * (shown / difference) ** 2)
}

export type Direction = 'up' | 'down' | 'unclear'

/**
 * Whether two accuracies differ significantly, by Newcombe's 95 % interval (1998) for the difference of two shares,
 * from their Wilson intervals. Both evaluations ask the same questions, so the test is conservative.
 */
export function directionOf(
  before: { share: number; n: number },
  after: { share: number; n: number },
): Direction {
  const [a, b] = [wilson(before.share, before.n), wilson(after.share, after.n)]
  const change = b.value - a.value
  if (change - Math.hypot(b.value - b.low, a.high - a.value) > 0) return 'up'
  if (change + Math.hypot(b.high - b.value, a.value - a.low) < 0) return 'down'
  return 'unclear'
}

/** Sampled or greedy accuracy of an evaluation. */
export const shareOf = (
  { accuracy, greedy, prompts }: Pick<Evaluation, 'accuracy' | 'greedy' | 'prompts'>,
  how: 'sampled' | 'greedy',
): { share: number; n: number } | undefined => {
  const share = how === 'sampled' ? accuracy : greedy?.accuracy
  return share === undefined ? undefined : { share, n: prompts }
}
