// Watches what peers' weights do to a node that joins them all the time. One head moves a node too little for a trial of
// its own: to tell a fall from 30 to 25 % takes hundreds of groups, and heads come every few steps. So the rewards of own
// groups are pooled, for each task and difficulty by itself, since the last point that is known to be good.
//
// The mean since then has an interval that holds at all times (../sharing/interval.ts). Once it lies above what a task may
// fall to, the mean begins anew; once it lies below, peers' weights have done harm. The good level only rises, or weights
// that get worse a little at a time would never be noticed. Rewards may also fall for another reason. That costs the same:
// going back to where the level was good, and a trial for each peer.

import { goodAfter, knownOf, levelOf, withDoubt } from '../guards/level.ts'
import { addPair, meanInterval, noPairs, type Pairs } from '../sharing/interval.ts'

export interface HeadWatch {
  /** Takes the mean reward of an own group. `version`: this node's. Says what has fallen, if something has. */
  ownGroup(task: string, reward: number, version: number): Fall | undefined
  /** The weights are others: what was seen so far says nothing about them. */
  reset(): void
}

export interface Fall {
  message: string
  /** The version at which the task was last as good as ever. */
  goodAt: number
}

interface Level {
  good?: { seen: Pairs; at: number }
  now: Pairs
}

/** Maximum probability that a task that has not fallen below its share is ever said to have. */
const DOUBT = 0.01
/** A task may fall to this share of its good level. */
const KEPT = 0.9
/** Groups that make the first good level. */
const LEAST = 32
/** A mean that is neither good nor bad after so many groups begins anew: old groups would hide what happens now. */
const MAX = 1024

export function createHeadWatch(): HeadWatch {
  let levels = new Map<string, Level>()
  return {
    ownGroup(task, reward, version) {
      const level = knownOf(levels, task, { now: noPairs() })
      if (!level) return undefined
      addPair(level.now, reward, 0)
      const { good, now } = level
      if (now.count < LEAST) return undefined
      const { low, high } = meanInterval(withDoubt(now), 0, DOUBT)
      const known = good && levelOf(good.seen)
      const least = known && leastOf(known)
      if (known && high < least!) {
        level.now = noPairs()
        const [from, to] = [good!.seen, now].map(({ x, count }) => (x / count).toFixed(3))
        const message = `the reward of own rollouts in ${task} fell from ${from} to ${to}`
        return { message, goodAt: good!.at }
      }
      if (least === undefined || low > least || now.count >= MAX) {
        const seen = goodAfter(good?.seen, now)
        if (seen !== good?.seen) level.good = { seen, at: version }
        level.now = noPairs()
      }
      return undefined
    },
    reset() {
      levels = new Map()
    },
  }
}

/** What a task may fall to. Agents' rewards may be below zero. */
function leastOf({ mean, error }: ReturnType<typeof levelOf>): number {
  const level = mean - error
  return level - (1 - KEPT) * Math.abs(level)
}
