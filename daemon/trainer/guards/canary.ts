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
  /** Takes the mean reward of a new own group. `version`: this node's. Says what has fallen, if something has. */
  ownGroup(task: string, reward: number, version: number): Fall | undefined
  /** Evaluations come one after another. `version`: of the weights that were evaluated. */
  evaluation(accuracy: number, prompts: number, version: number): Fall | undefined
}

interface Fall {
  message: string
  /** The version before which there was no fall. */
  goodAt: number
}

/** What was seen from a version on. */
interface Seen {
  of: Pairs
  since: number
}

interface Watched {
  good?: Pairs
  /** What seems to have fallen or risen, until the next comparison. */
  suspected?: Seen | undefined
}

export function createCanary(): Canary {
  const tasks = new Map<string, Watched & { recent: Seen | undefined }>()
  const accuracies: Watched = {}
  /** Version of the weights of the newest evaluation. */
  let evaluated: number | undefined

  return {
    ownGroup(task, reward, version) {
      const known = knownOf(tasks, task, { recent: undefined })
      if (!known) return undefined
      known.recent ??= { of: noPairs(), since: version }
      const now = known.recent
      addPair(now.of, reward, 0)
      if (now.of.count < WINDOW) return undefined
      // Windows do not overlap: many overlapping ones would be as many chances of a false alarm.
      known.recent = undefined
      return compare(known, now, `the reward of own rollouts in ${task}`)
    },

    evaluation(accuracy, prompts, version) {
      const right = accuracy * prompts
      const of = { ...noPairs(), count: prompts, x: right, xx: right }
      // What has fallen fell since the evaluation before.
      const since = evaluated ?? version
      evaluated = version
      return compare(accuracies, { of, since }, 'held-out accuracy')
    },
  }
}

function compare(watched: Watched, seen: Seen, what: string): Fall | undefined {
  const { good, suspected } = watched
  const now = suspected ? bothOf(suspected.of, seen.of) : seen.of
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
  return { message: `${what} fell from ${from} to ${to}`, goodAt: suspected!.since }
}

/** Agents' rewards may be below zero. */
function hasFallen(now: Pairs, good: Pairs, errors: number): boolean {
  const [before, after] = [levelOf(good), levelOf(now)]
  const fall = before.mean - after.mean
  return fall > FALL * Math.abs(before.mean) && fall > (errors * Math.hypot(before.error, after.error)) / 2
}
