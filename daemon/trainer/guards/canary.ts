// Canaries: two rewards that must not fall, the mean reward of new own rollouts, for each task and difficulty by itself, and
// the held-out accuracy. Each is compared with its good level (./level.ts). That is no maximum: the best of ever more noisy
// means lies ever farther above the truth, until a usual one seems a fall. A fall counts only if it is large (a tenth), and
// if what comes next, pooled with what seemed to have fallen, says so far beyond chance.

import { addPair, noPairs, type Pairs } from '../sharing/interval.ts'
import { bothOf, goodAfter, knownOf, levelOf } from './level.ts'

/** Smallest fall that counts, as a share of the good level. */
const FALL = 0.1
/** In standard errors. What is suspected is surely looked at again, so it may be suspected sooner. */
const SUSPECTED = 3
const CONFIRMED = 5
/** Own groups per comparison, including those without a signal. */
const WINDOW = 64

interface Canary {
  /** Takes the mean reward of a new own group. Returns a message if the reward has fallen. */
  ownGroup(task: string, reward: number): string | undefined
  evaluation(accuracy: number, prompts: number): string | undefined
}

interface Watched {
  good?: Pairs
  /** What seems to have fallen or risen, until the next comparison. */
  suspected?: Pairs | undefined
}

export function createCanary(): Canary {
  const tasks = new Map<string, Watched & { recent: Pairs }>()
  const accuracies: Watched = {}

  return {
    ownGroup(task, reward) {
      const known = knownOf(tasks, task, { recent: noPairs() })
      if (!known) return undefined
      addPair(known.recent, reward, 0)
      if (known.recent.count < WINDOW) return undefined
      const now = known.recent
      // Windows do not overlap: many overlapping ones would be as many chances of a false alarm.
      known.recent = noPairs()
      return compare(known, now, `the reward of own rollouts in ${task}`)
    },

    evaluation(accuracy, prompts) {
      const right = accuracy * prompts
      return compare(accuracies, { ...noPairs(), count: prompts, x: right, xx: right }, 'held-out accuracy')
    },
  }
}

function compare(watched: Watched, seen: Pairs, what: string): string | undefined {
  const { good, suspected } = watched
  const now = suspected ? bothOf(suspected, seen) : seen
  const isFallen = good !== undefined && hasFallen(now, good, suspected ? CONFIRMED : SUSPECTED)
  const better = goodAfter(good, now)
  // A rise waits for the next one too: from a level that one lucky window has set, all others seem to have fallen.
  const isOdd = good !== undefined && (isFallen || better === now)
  watched.suspected = isOdd && !suspected ? seen : undefined
  if (watched.suspected) return undefined
  if (!isFallen) {
    watched.good = better
    return undefined
  }
  const [from, to] = [good, now].map(({ x, count }) => (x / count).toFixed(3))
  return `${what} fell from ${from} to ${to}`
}

function hasFallen(now: Pairs, good: Pairs, errors: number): boolean {
  const [before, after] = [levelOf(good), levelOf(now)]
  const fall = before.mean - after.mean
  return fall > FALL * before.mean && fall > (errors * Math.hypot(before.error, after.error)) / 2
}
