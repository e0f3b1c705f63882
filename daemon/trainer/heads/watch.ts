// Watches what peers' weights do to a node that joins them all the time. One head moves a node too little for a trial of
// its own: to tell a fall from 30 to 25 % takes hundreds of groups, and heads come every few steps. So the rewards of own
// groups are pooled, for each task and difficulty by itself, since the last point that is known to be good.
//
// The mean since then has an interval that holds at all times (../sharing/interval.ts). Once it lies above what a task may
// fall to, this is the new good point; once it lies below, peers' weights have done harm. Rewards may also fall for another
// reason. That costs the same: going back, and a trial for each peer.

import { addPair, meanInterval, noPairs, type Pairs } from '../sharing/interval.ts'

export interface HeadWatch {
  /** Takes the mean reward of an own group. Says what has fallen, if something has. */
  ownGroup(task: string, reward: number): string | undefined
  /** The weights are others: what was seen so far says nothing about them. */
  reset(): void
}

interface Level {
  good?: { mean: number; error: number }
  now: Pairs
}

/** Maximum probability that a task that has not fallen below its share is ever said to have. */
const DOUBT = 0.01
/** A task may fall to this share of its good level. */
const KEPT = 0.9
/** Groups that make the first good level. */
const LEAST = 32
/** A point that is neither good nor bad after so many groups is taken as it is, since training changes the task's level. */
const MAX = 1024
const MAX_TASKS = 64

export function createHeadWatch(): HeadWatch {
  let levels = new Map<string, Level>()
  return {
    ownGroup(task, reward) {
      const level = levels.get(task) ?? { now: noPairs() }
      if (levels.size >= MAX_TASKS && !levels.has(task)) return undefined
      levels.set(task, level)
      addPair(level.now, reward, 0)
      const { count, x, xx } = level.now
      if (count < LEAST) return undefined
      const mean = x / count
      const { low, high } = meanInterval(level.now, 0, DOUBT)
      const least = level.good && KEPT * (level.good.mean - level.good.error)
      if (least !== undefined && high < least) {
        levels = new Map()
        return `the reward of own rollouts in ${task} fell from ${level.good!.mean.toFixed(3)} to ${mean.toFixed(3)}`
      }
      if (least === undefined || low > least || count >= MAX) {
        const variance = Math.max(0, xx - count * mean * mean) / (count - 1)
        level.good = { mean, error: 2 * Math.sqrt(variance / count) }
        level.now = noPairs()
      }
      return undefined
    },
    reset() {
      levels = new Map()
    },
  }
}
