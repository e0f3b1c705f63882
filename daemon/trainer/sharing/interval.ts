// Anytime-valid confidence intervals, for the mean of paired differences and for a ratio of two means.
//
// An ordinary t interval has its coverage only at one time fixed in advance. A node tests after every update and acts
// as soon as the evidence suffices; for that, a t interval is far too narrow. Here a value mu is excluded once the
// Bayes factor of "the mean is not mu" against "the mean is mu" reaches 1 / alpha, with a right-Haar prior on the
// spread and a normal prior N(0, PRIOR) on the mean in units of the spread. Under the null hypothesis this factor is a
// martingale with mean 1. By Ville's inequality, the true mean is therefore ever excluded with probability at most
// alpha (Lai 1976; Wang & Ramdas 2024, "Anytime-valid t-tests"). This is exact for normal differences; the differences
// here are means over hundreds of tokens. A ratio k of means is excluded once the interval for the mean of x - k y
// excludes 0 (Fieller 1954), so the same bound holds for it.

export interface Pairs {
  count: number
  x: number
  y: number
  xx: number
  xy: number
  yy: number
}

interface Interval {
  value: number
  low: number
  high: number
}

/** Prior variance of the effect size. Effects of a third of a standard deviation are detected soonest. */
const PRIOR = 0.1

export const noPairs = (): Pairs => ({ count: 0, x: 0, y: 0, xx: 0, xy: 0, yy: 0 })

export function addPair(pairs: Pairs, x: number, y: number): void {
  pairs.count += 1
  pairs.x += x
  pairs.y += y
  pairs.xx += x * x
  pairs.xy += x * y
  pairs.yy += y * y
}

/** Half-width of the interval in standard errors; infinite for fewer than 3 pairs. */
export function standardErrors(count: number, alpha: number): number {
  const freedom = count - 1
  if (freedom < 2) return Number.POSITIVE_INFINITY
  const inflation = 1 + count * PRIOR
  // The Bayes factor, inflation^(-1/2) ((1 + t^2/f) / (1 + t^2/(f inflation)))^((f + 1) / 2), equals 1 /
  // alpha at:
  const level = (Math.sqrt(inflation) / alpha) ** (2 / (freedom + 1))
  return level >= inflation
    ? Number.POSITIVE_INFINITY
    : Math.sqrt((freedom * (level - 1)) / (1 - level / inflation))
}

/** Interval for the mean of x - k y. */
export function meanInterval({ count, x, y, xx, xy, yy }: Pairs, k: number, alpha: number): Interval {
  const value = (x - k * y) / count
  const squares = xx - 2 * k * xy + k * k * yy
  const variance = Math.max(0, squares - count * value * value) / Math.max(1, count - 1)
  const half = standardErrors(count, alpha) * Math.sqrt(variance / count)
  return Number.isFinite(half)
    ? { value, low: value - half, high: value + half }
    : { value, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY }
}

/** Interval for mean x / mean y; undefined until mean y is known to be positive. */
export function ratioInterval(pairs: Pairs, alpha: number): Interval | undefined {
  const { count } = pairs
  const bottom = meanInterval({ ...pairs, x: pairs.y, xx: pairs.yy }, 0, alpha)
  if (!(bottom.low > 0)) return undefined
  // The set of k with (mx - k my)^2 <= c (vx - 2 k vxy + k^2 vy), a quadratic in k.
  const [mx, my] = [pairs.x / count, pairs.y / count]
  const spread = (sum: number, a: number, b: number): number => (sum - count * a * b) / (count - 1) / count
  const c = standardErrors(count, alpha) ** 2
  const a = my * my - c * spread(pairs.yy, my, my)
  const b = mx * my - c * spread(pairs.xy, mx, my)
  const d = mx * mx - c * spread(pairs.xx, mx, mx)
  const root = Math.sqrt(Math.max(0, b * b - a * d))
  return { value: mx / my, low: (b - root) / a, high: (b + root) / a }
}

/** Maximum probability that `worthOf` is ever below the true ratio. */
const DOUBT = 0.2

/**
 * The worth of x in units of y, 0 to 1: the upper end of an 80 % interval for the ratio of their means, and 1 until
 * that is known. So a source counts fully until it is fairly sure that it brings less.
 */
export function weightOf(pairs: Pairs): number {
  const ratio = ratioInterval(pairs, DOUBT)
  return ratio === undefined ? 1 : Math.max(0, Math.min(1, ratio.high))
}
