// What it costs to get to a held-out accuracy, and how two costs compare. Runs that never arrive are counted at their
// bound: they cost at least what they spent.

import { mean, summary } from './statistics.ts'

export interface CostLook {
  /** Spent so far, in any unit. */
  cost: number
  accuracy: number
}

export interface Reached {
  cost: number
  /** The target was not reached: the true cost is above this. */
  isBound: boolean
}

/** Means of three consecutive looks. */
export function smooth(looks: readonly CostLook[]): CostLook[] {
  return looks.slice(2).map((_, i) => ({
    cost: mean(looks.slice(i, i + 3).map(({ cost }) => cost)),
    accuracy: mean(looks.slice(i, i + 3).map(({ accuracy }) => accuracy)),
  }))
}

/** The cost at which the smoothed curve first reaches the target, between looks by a straight line. */
export function costTo(target: number, looks: readonly CostLook[]): Reached {
  const curve = smooth(looks)
  const at = curve.findIndex(({ accuracy }) => accuracy >= target)
  if (at < 0) return { cost: looks.at(-1)!.cost, isBound: true }
  if (at === 0) return { cost: curve[0]!.cost, isBound: false }
  const [a, b] = [curve[at - 1]!, curve[at]!]
  const share = (target - a.accuracy) / (b.accuracy - a.accuracy)
  return { cost: a.cost + share * (b.cost - a.cost), isBound: false }
}

export interface Ratio {
  /** Geometric mean. */
  mean: number
  /** 95 % interval over seeds, on a log scale; undefined for one seed. */
  low: number | undefined
  high: number | undefined
  seeds: number
  /** Seeds whose ratio is only a bound. Below: the true ratio is above what was counted. */
  below: number
  above: number
}

/** Of paired costs, `over` divided by `under`: how many times as much `over` costs. */
export function ratioOf(pairs: readonly { over: Reached; under: Reached }[]): Ratio | undefined {
  // Where neither arrived, nothing is known.
  const known = pairs.filter(({ over, under }) => !(over.isBound && under.isBound))
  if (known.length === 0) return undefined
  const { mean: centre, half } = summary(known.map(({ over, under }) => Math.log(over.cost / under.cost)))
  return {
    mean: Math.exp(centre),
    low: half === undefined ? undefined : Math.exp(centre - half),
    high: half === undefined ? undefined : Math.exp(centre + half),
    seeds: known.length,
    below: known.filter(({ over }) => over.isBound).length,
    above: known.filter(({ under }) => under.isBound).length,
  }
}

export function showRatio(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '-'
  const { mean: centre, low, high, seeds, below, above } = ratio
  const interval = low === undefined || high === undefined ? '' : ` (${low.toFixed(2)} to ${high.toFixed(2)})`
  const bounds = [below > 0 ? `${below} at least` : '', above > 0 ? `${above} at most` : ''].filter(Boolean)
  return `${centre.toFixed(2)}${interval}, ${seeds} seeds${bounds.length > 0 ? `, ${bounds.join(', ')}` : ''}`
}

export function showReached(all: readonly Reached[], digits = 0): string {
  const arrived = all.filter(({ isBound }) => !isBound)
  const { mean: centre, half } = summary(all.map(({ cost }) => cost))
  const text =
    half === undefined ? centre.toFixed(digits) : `${centre.toFixed(digits)} ± ${half.toFixed(digits)}`
  return arrived.length === all.length ? text : `≥ ${text} (${arrived.length} of ${all.length} arrived)`
}
