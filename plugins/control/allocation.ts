// XRPO's allocator (arXiv 2510.06672): decides which prompts get the next rollouts.
//
//   h(n) = t(1 - alpha/2, n - 1) s / sqrt(n);   priority = h(n) - h(n + 1) + lambda sqrt(log(1 + T) / n)
//
// The first term is how much one more rollout would narrow the confidence interval of a prompt's mean reward,
// assuming that the deviation s stays the same. The second favours prompts with few rollouts. The paper does
// not define T clearly; here it is the total number of rollouts so far. A prompt with a single rollout has no
// interval, so it gets a second rollout first.

interface AllocationOptions {
  alpha: number
  lambda: number
}

/** Number of rollouts to add to each prompt, `budget` in total, given each prompt's rewards so far. */
export function allocate(
  rewards: readonly (readonly number[])[],
  budget: number,
  options: AllocationOptions,
): number[] {
  const counts = rewards.map(({ length }) => length)
  const spreads = rewards.map(deviation)
  const added = rewards.map(() => 0)
  if (rewards.length === 0) return added
  let total = counts.reduce((a, b) => a + b, 0)
  for (let i = 0; i < budget; i++) {
    const priorities = counts.map((n, q) => priority(n, spreads[q]!, total, options))
    const best = priorities.indexOf(Math.max(...priorities))
    added[best]! += 1
    counts[best]! += 1
    total += 1
  }
  return added
}

export function priority(
  n: number,
  spread: number,
  total: number,
  { alpha, lambda }: AllocationOptions,
): number {
  if (n < 2) return Number.POSITIVE_INFINITY
  return shrink(n, spread, alpha) + lambda * Math.sqrt(Math.log(1 + total) / n)
}

/** The reduction of the interval's half-width by one more rollout. */
export function shrink(n: number, spread: number, alpha: number): number {
  return halfWidth(n, spread, alpha) - halfWidth(n + 1, spread, alpha)
}

export function halfWidth(n: number, spread: number, alpha: number): number {
  return spread === 0 ? 0 : (tQuantile(1 - alpha / 2, n - 1) * spread) / Math.sqrt(n)
}

/** Sample deviation; 0 for fewer than two. */
export function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0
  const mean = values.reduce((a, b) => a + b, 0) / values.length
  return Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - 1))
}

const quantiles = new Map<string, number>()

/** Quantile of Student's t for a probability above one half, by bisection. */
export function tQuantile(probability: number, freedom: number): number {
  const key = `${probability}/${freedom}`
  const known = quantiles.get(key)
  if (known !== undefined) return known
  let [low, high] = [0, 1]
  while (1 - tailOf(high, freedom) < probability && high < 1e12) high *= 2
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2
    if (1 - tailOf(middle, freedom) < probability) low = middle
    else high = middle
  }
  if (quantiles.size > 4096) quantiles.clear()
  quantiles.set(key, high)
  return high
}

/** P(T > t) for integer degrees of freedom: the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4. */
function tailOf(t: number, freedom: number): number {
  const angle = Math.atan2(t, Math.sqrt(freedom))
  const cosine = Math.cos(angle)
  const odd = freedom % 2 === 1
  let [term, sum] = odd ? [cosine, freedom > 1 ? cosine : 0] : [1, 1]
  for (let k = odd ? 3 : 2; k < freedom; k += 2) {
    term *= (cosine * cosine * (k - 1)) / k
    sum += term
  }
  const inside = odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum
  return (1 - inside) / 2
}
