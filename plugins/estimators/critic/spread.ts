// Running mean and variance of each coordinate of hidden states.

export interface Spread {
  readonly mean: Float64Array
  readonly variance: Float64Array
  /** Number of states that they cover, up to `REMEMBERED`. */
  readonly seen: number
}

/** Number of states after which old ones start to fade. */
const REMEMBERED = 65_536

/** Merges means and variances (Chan et al. 1983). Old states count as at most `REMEMBERED`. */
export function spreadWith(
  { mean, variance, seen }: Spread,
  states: Float32Array,
  rows: Uint32Array,
): Spread {
  const width = mean.length
  const [centre, spread] = [new Float64Array(width), new Float64Array(width)]
  for (const row of rows) for (let i = 0; i < width; i++) centre[i]! += states[row * width + i]! / rows.length
  for (const row of rows)
    for (let i = 0; i < width; i++) spread[i]! += (states[row * width + i]! - centre[i]!) ** 2 / rows.length
  const share = rows.length / (seen + rows.length)
  return {
    mean: mean.map((old, i) => old + share * (centre[i]! - old)),
    variance: variance.map(
      (old, i) => (1 - share) * old + share * spread[i]! + share * (1 - share) * (centre[i]! - mean[i]!) ** 2,
    ),
    seen: Math.min(REMEMBERED, seen + rows.length),
  }
}
