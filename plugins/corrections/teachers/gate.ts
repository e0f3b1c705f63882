// Decides which teacher to listen to in which task, and how much, from verified answers to this node's own prompts. It has
// no loop, no clock and no model.
//
// Evidence is pooled over rounds: two dozen prompts cannot tell a better teacher from a worse one. A teacher is listened to
// once it is ahead of this node by more than the margin with 95 % confidence, and until it is not ahead by the margin any
// more. In between it counts by its lead, so that its part falls to nothing as this node catches up.

import { z } from 'zod'

export interface GateOptions {
  /** Accuracy by which a teacher must be ahead. */
  margin: number
  /** Lead from which on a teacher counts in full. */
  full: number
}

interface TeacherOfTask {
  teacher: string
  task: string
}

/** A teacher that could be asked. */
export interface Candidate extends TeacherOfTask {
  /** Another one than before: it is worth another look. */
  version: number
  /** Its own word about its accuracy. */
  claim?: number | undefined
}

export interface Listening extends TeacherOfTask {
  /** Above 0, up to 1. */
  weight: number
  /** Mean score of its answers, and of this node's. */
  accuracy: number
  own: number
}

export interface Gate {
  /** The mean verified score of this node's answers to a prompt. */
  own(task: string, score: number): void
  /** The verified score of a teacher's answer. */
  answered(by: TeacherOfTask & { version: number }, score: number): void
  /** Whom to ask next, of these; undefined if nobody's answers could change anything. */
  next(among: readonly Candidate[]): Candidate | undefined
  /** The teacher of a task, the one that is furthest ahead; undefined if none is. */
  teacherOf(task: string, among: readonly string[]): Listening | undefined
  /** All who are listened to. */
  listening(): Listening[]
  save(): unknown
  load(saved: unknown): void
}

/** Decayed sums of scores in [0, 1]. */
interface Pool {
  count: number
  sum: number
  squares: number
}

/** Of this node: about the last 50 prompts count. */
const FADE = 0.98
/** What a teacher's earlier answers count when its weights have changed. */
const CHANGED = 0.9
/** Answers of a teacher that settle it, the fewest before it is listened to, and before it is given up. */
const [ENOUGH, FEWEST, FIRST] = [256, 32, 8]
/** Standard errors of a one-sided bound of 95 %. */
const SURE = 1.645
const MAX_TEACHERS = 256

const poolSchema = z.strictObject({
  count: z.number().nonnegative(),
  sum: z.number().nonnegative(),
  squares: z.number().nonnegative(),
})
const savedSchema = z.strictObject({
  own: z.array(z.tuple([z.string(), poolSchema])),
  teachers: z
    .array(
      z.strictObject({
        ...{ teacher: z.string(), task: z.string(), version: z.number(), isOpen: z.boolean() },
        pool: poolSchema,
      }),
    )
    .max(MAX_TEACHERS),
})
type Known = z.infer<typeof savedSchema>['teachers'][number]

export function createGate({ margin, full }: GateOptions): Gate {
  const own = new Map<string, Pool>()
  const known = new Map<string, Known>()
  const keyOf = ({ teacher, task }: TeacherOfTask): string => JSON.stringify([teacher, task])

  /** The teacher's lead and how much of it is certain; undefined while one of the two has no answers. */
  const leadOf = (one: Known | undefined): { lead: number; error: number } | undefined => {
    const mine = one && own.get(one.task)
    if (!one || !mine || mine.count === 0 || one.pool.count === 0) return undefined
    const lead = meanOf(one.pool) - meanOf(mine)
    return { lead, error: SURE * Math.sqrt(squaredErrorOf(one.pool) + squaredErrorOf(mine)) }
  }
  const settle = (one: Known): void => {
    const found = leadOf(one)
    if (!found) return
    const { lead, error } = found
    one.isOpen = one.isOpen ? lead > margin : one.pool.count >= FEWEST && lead - error > margin
  }
  const listeningTo = (one: Known | undefined): Listening | undefined => {
    const lead = leadOf(one)?.lead ?? 0
    if (!one?.isOpen || lead <= 0) return undefined
    const { teacher, task, pool } = one
    const weight = Math.min(1, lead / full)
    return { teacher, task, weight, accuracy: meanOf(pool), own: meanOf(own.get(task)!) }
  }

  return {
    own(task, score) {
      const pool = own.get(task) ?? nothing()
      own.set(task, added(faded(pool, FADE), score))
      for (const one of known.values()) if (one.task === task) settle(one)
    },

    answered({ version, ...by }, score) {
      const key = keyOf(by)
      const before = known.get(key) ?? { ...by, version, isOpen: false, pool: nothing() }
      const pool = version === before.version ? before.pool : faded(before.pool, CHANGED)
      const now = { ...before, version, pool: added(pool, score) }
      known.delete(key)
      known.set(key, now)
      settle(now)
      if (known.size > MAX_TEACHERS) known.delete(known.keys().next().value!)
    },

    next(among) {
      const countOf = (by: Candidate): number => {
        const one = known.get(keyOf(by))
        return one ? (one.version === by.version ? 1 : CHANGED) * one.pool.count : 0
      }
      const open = among.filter((by) => {
        const mine = own.get(by.task)
        // A claim may spare a trial, and never replaces one.
        if (!mine || (by.claim !== undefined && by.claim <= meanOf(mine))) return false
        const [count, one] = [countOf(by), known.get(keyOf(by))]
        const hasChanged = one?.version !== by.version
        if (count < (hasChanged ? FEWEST : FIRST)) return true
        const { lead, error } = leadOf(one)!
        return count < ENOUGH && lead + error > (count < FEWEST ? 0 : margin)
      })
      // A trial that has begun goes on, or all of many teachers would be ready at the same time, much later.
      const order = (by: Candidate): number => (countOf(by) < FEWEST ? -countOf(by) : countOf(by))
      return open.sort((a, b) => order(a) - order(b))[0]
    },

    teacherOf(task, among) {
      const all = among.flatMap((teacher) => listeningTo(known.get(keyOf({ teacher, task }))) ?? [])
      return all.sort((a, b) => b.accuracy - a.accuracy)[0]
    },

    listening: () => [...known.values()].flatMap((one) => listeningTo(one) ?? []),

    save: () => ({ own: [...own], teachers: [...known.values()] }),
    load(saved) {
      const state = savedSchema.parse(saved)
      own.clear()
      known.clear()
      for (const [task, pool] of state.own) own.set(task, pool)
      for (const one of state.teachers) known.set(keyOf(one), one)
    },
  }
}

const nothing = (): Pool => ({ count: 0, sum: 0, squares: 0 })

function faded({ count, sum, squares }: Pool, by: number): Pool {
  return { count: by * count, sum: by * sum, squares: by * squares }
}

function added({ count, sum, squares }: Pool, score: number): Pool {
  return { count: count + 1, sum: sum + score, squares: squares + score * score }
}

function meanOf({ count, sum }: Pool): number {
  return sum / count
}

/** Squared standard error of the mean. A handful of equal scores is no certainty: one more of each kind is assumed. */
function squaredErrorOf({ count, sum, squares }: Pool): number {
  const mean = (sum + 1) / (count + 2)
  return ((squares + 1) / (count + 2) - mean * mean) / count
}
