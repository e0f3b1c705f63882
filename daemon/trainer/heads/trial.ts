// Whether weights that peers had a part in may stay: what this node's own verifiers say of them, task by task. A mean
// over tasks would hide that a merge gives in one task what it takes in another.

export interface TaskAccuracy {
  task: string
  /** 0 to 1. */
  accuracy: number
  /** Its standard error. */
  error: number
}

export type Must = 'hold' | 'rise' | undefined

export interface Verdict {
  isTaken: boolean
  /** Means over tasks. */
  before: number
  after: number
  /** The task that lost most of what it had, if one lost too much. */
  fallen?: { task: string; before: number; after: number }
}

/** A task may not keep less than this share of its accuracy. */
const KEPT = 0.9
/**
 * A fall within so many standard errors of the difference may be chance, unless it takes this share of what the task had: then
 * within one. A task that is right in 3 of 100 answers is often right in 2 the next time.
 */
const [ERRORS, LARGE] = [2, 1 / 4]
/** Standard errors of the mean's difference, which is looked at after each part of a trial. */
const CLEAR = 3

/**
 * Of the tasks that both list. `must`: their mean has to be as high as before, or to rise by more than a standard error.
 * `best`: what the node has reached in earlier trials. A task that does not rise may not fall from that either, or many
 * small falls would add up.
 */
export function judge(
  had: readonly TaskAccuracy[],
  has: readonly TaskAccuracy[],
  { must, best = [] }: { must?: Must; best?: readonly TaskAccuracy[] } = {},
): Verdict & {
  /** More answers would hardly change the verdict: the mean has clearly fallen, or risen while no task can have fallen. */
  isClear: boolean
} {
  const pairs = had.flatMap((own) => {
    const now = has.find(({ task }) => task === own.task)
    return now ? [{ own, now }] : []
  })
  const falls = pairs.flatMap(({ own, now }) => {
    const reached = best.find(({ task }) => task === own.task)
    const isBelow = reached && now.accuracy <= own.accuracy && own.accuracy < reached.accuracy
    const before = isBelow ? reached : own
    const fall = before.accuracy - now.accuracy
    const error = Math.hypot(before.error, now.error)
    const chance = Math.min(ERRORS * error, Math.max(error, LARGE * before.accuracy))
    const isFall = now.accuracy < KEPT * before.accuracy && fall > chance
    return isFall ? [{ task: own.task, before: before.accuracy, after: now.accuracy }] : []
  })
  const [fallen] = falls.sort((a, b) => a.after / a.before - b.after / b.before)
  const means = { before: meanOf(pairs.map(({ own }) => own)), after: meanOf(pairs.map(({ now }) => now)) }
  const chance = Math.hypot(...pairs.flatMap(({ own, now }) => [own.error, now.error])) / pairs.length
  const rise = means.after - means.before
  const isEnough = { hold: rise >= 0, rise: rise > chance }
  const isTaken = fallen === undefined && (must === undefined || isEnough[must])
  // A mean that has risen says nothing of a task that may have fallen.
  const isSafe = pairs.every(
    ({ own, now }) => now.accuracy - KEPT * own.accuracy > ERRORS * Math.hypot(own.error, now.error),
  )
  return {
    isTaken,
    isClear: Math.abs(rise) > CLEAR * chance && (isTaken ? isSafe : rise < 0),
    ...means,
    ...(fallen && { fallen }),
  }
}

/** With what is surely higher than the best so far; the luckiest of many trials would be too high. */
export function bestOf(best: readonly TaskAccuracy[], now: readonly TaskAccuracy[]): TaskAccuracy[] {
  const others = best.filter(({ task }) => !now.some((one) => one.task === task))
  return [
    ...others,
    ...now.map((one) => {
      const had = best.find(({ task }) => task === one.task)
      const isHigher = !had || one.accuracy - had.accuracy > ERRORS * Math.hypot(one.error, had.error)
      return isHigher ? one : had
    }),
  ]
}

function meanOf(tasks: readonly TaskAccuracy[]): number {
  if (tasks.length === 0) return 0
  return tasks.reduce((sum, { accuracy }) => sum + accuracy, 0) / tasks.length
}

/** Rewards of answers to held-out questions, as they come in. */
export interface Tally {
  /** The rewards of all answers to some questions of a task. */
  add(rewards: readonly { task: string; questions: number; rewards: readonly number[] }[]): void
  accuracies(): TaskAccuracy[]
  means(): { tasks: Record<string, number>; prompts: number }
}

export function createTally(): Tally {
  const all = new Map<string, { questions: number; answers: number; sum: number }>()
  const sorted = () => [...all].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    add(some) {
      for (const { task, questions, rewards } of some) {
        const had = all.get(task) ?? { questions: 0, answers: 0, sum: 0 }
        all.set(task, {
          questions: had.questions + questions,
          answers: had.answers + rewards.length,
          sum: rewards.reduce((sum, reward) => sum + reward, had.sum),
        })
      }
    },
    accuracies: () =>
      sorted().map(([task, { answers, sum }]) => {
        const accuracy = sum / answers
        // A share of 0 or 1 among few answers is not certain.
        const variance = Math.max(accuracy * (1 - accuracy), 0.25 / answers)
        return { task, accuracy, error: Math.sqrt(variance / answers) }
      }),
    means: () => ({
      tasks: Object.fromEntries(sorted().map(([task, { answers, sum }]) => [task, sum / answers])),
      prompts: sorted().reduce((sum, [, { questions }]) => sum + questions, 0),
    }),
  }
}
