// Whether weights that peers had a part in may stay: what this node's own verifiers say of them, task by task. A mean
// over tasks would hide that a merge gives in one task what it takes in another.

export interface TaskAccuracy {
  task: string
  /** 0 to 1. */
  accuracy: number
  /** Its standard error. */
  error: number
}

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
/** A fall within so many standard errors of the difference may be chance, unless it takes this share of what the task had. */
const [ERRORS, LARGE] = [2, 1 / 4]

/** Of the tasks that both list. `mustRise`: their mean has to be higher than before. */
export function judge(
  had: readonly TaskAccuracy[],
  has: readonly TaskAccuracy[],
  { mustRise = false }: { mustRise?: boolean } = {},
): Verdict {
  const pairs = had.flatMap((own) => {
    const now = has.find(({ task }) => task === own.task)
    return now ? [{ own, now }] : []
  })
  const falls = pairs.flatMap(({ own, now }) => {
    const fall = own.accuracy - now.accuracy
    const chance = Math.min(ERRORS * Math.hypot(own.error, now.error), LARGE * own.accuracy)
    const isFall = now.accuracy < KEPT * own.accuracy && fall > chance
    return isFall ? [{ task: own.task, before: own.accuracy, after: now.accuracy }] : []
  })
  const [fallen] = falls.sort((a, b) => a.after / a.before - b.after / b.before)
  const means = { before: meanOf(pairs.map(({ own }) => own)), after: meanOf(pairs.map(({ now }) => now)) }
  return {
    isTaken: fallen === undefined && (!mustRise || means.after > means.before),
    ...means,
    ...(fallen && { fallen }),
  }
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
