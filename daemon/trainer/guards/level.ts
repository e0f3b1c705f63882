// What a task's reward was when it was good, for those who watch whether it falls: the canaries and ../heads/watch.ts.

import { noPairs, type Pairs } from '../sharing/interval.ts'

const MAX_TASKS = 64

/** How a task and its difficulty are named in what is said of their rewards. */
export const nameOf = ({ task, difficulty }: { task: string; difficulty: number }): string =>
  `${task} (difficulty ${difficulty})`

/** What is known of this task; undefined if as many others are watched as may be. */
export function knownOf<Known>(all: Map<string, Known>, task: string, anew: Known): Known | undefined {
  if (all.size >= MAX_TASKS && !all.has(task)) return undefined
  const known = all.get(task) ?? anew
  all.set(task, known)
  return known
}

/** With a group that is all right and one that is all wrong: groups without a right answer are no proof that none comes. */
export const withDoubt = ({ count, x, xx }: Pairs): Pairs => ({
  ...noPairs(),
  count: count + 2,
  x: x + 1,
  xx: xx + 1,
})

/** `error`: two standard errors. */
export function levelOf(seen: Pairs): { mean: number; error: number } {
  const { count, x, xx } = withDoubt(seen)
  const mean = x / count
  return { mean, error: 2 * Math.sqrt(Math.max(0, xx - count * mean * mean) / (count - 1) / count) }
}

/**
 * The level rises where the new mean is surely higher. A mean that may be as high makes it more certain, and one that is
 * lower changes nothing: then the result is `good` itself.
 */
export function goodAfter(good: Pairs | undefined, now: Pairs): Pairs {
  if (!good) return now
  const [before, after] = [levelOf(good).mean, levelOf(now)]
  if (after.mean - after.error > before) return now
  if (after.mean + after.error < before) return good
  return bothOf(good, now)
}

export const bothOf = (a: Pairs, b: Pairs): Pairs => ({
  ...noPairs(),
  count: a.count + b.count,
  x: a.x + b.x,
  xx: a.xx + b.xx,
})
