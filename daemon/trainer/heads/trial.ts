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
  return tasks.reduce((sum, { accuracy }) => sum + accuracy, 0) / tasks.length
}
