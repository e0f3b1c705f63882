// Checks of tasks that a user wrote, and of what they return. They are total in name only: one that fails on an answer
// must not end a round, let alone the program.

import type { Instance, Verdict } from '../train/index.ts'
import { PLUGIN_API } from './plugin.ts'
import type { Environment, Outcome, Task } from './task.ts'

const MAX_CHARS = 65_536

/** Computes, and gives `otherwise` if that fails. */
export type Guard = <Result>(compute: () => Result, otherwise: Result) => Result

/** What a task makes of answers. One on which it fails scores 0. */
export function guardedCalls(task: Task, guarded: Guard): Pick<Task, 'verify' | 'environment'> {
  return {
    verify: (instance, completion) =>
      guarded(() => verdictOf(task.verify(instance, completion)), { score: 0, answer: null, found: 'none' }),
    ...(task.environment && { environment: guardedEnvironment(task.environment, guarded) }),
  }
}

/** An episode ends with the answer on which the environment fails. */
function guardedEnvironment(inner: Environment, guarded: Guard): Environment {
  return {
    reset: (instance) => inner.reset(instance),
    key: (state) => inner.key(state),
    step: (state, answer) =>
      guarded(() => outcomeOf(inner.step(state, answer)), { state, observation: '', reward: 0, done: true }),
  }
}

/** Throws unless it has all that a task has. */
export function asTask(value: unknown, name: string): Task {
  const task = value as Partial<Task> | null | undefined
  if (!task || typeof task !== 'object' || typeof task.generate !== 'function' || task.kind !== 'task')
    throw new Error(
      'has no task as its default export; create one with defineTask() or, for several turns, defineEnvironment()',
    )
  if (task.api !== PLUGIN_API)
    throw new Error(`is made for plugin API ${String(task.api)}, this is ${PLUGIN_API}`)
  if (task.name !== name)
    throw new Error(`has the task "${String(task.name).slice(0, 64)}"; use that name in the config`)
  if (typeof task.verify !== 'function') throw new Error('has no function `verify`')
  if (!isUint(task.version)) throw new Error('`version` must be a whole number from 0 up')
  const { min, max, default: initial, describe } = (task.difficulty ?? {}) as Partial<Task['difficulty']>
  if (!isUint(min) || !isUint(max) || !isUint(initial) || !(min <= initial && initial <= max && max <= 1000))
    throw new Error('`difficulty` needs whole numbers from 0 to 1000: min, default and max, in this order')
  if (typeof describe !== 'function') throw new Error('`difficulty` has no function `describe`')
  const { environment } = task
  if (
    environment &&
    !(['reset', 'step', 'key'] as const).every((of) => typeof environment[of] === 'function')
  )
    throw new Error('`environment` needs the functions `reset`, `step` and `key`')
  return task as Task
}

const isUint = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0

/** What an instance lacks; undefined if nothing. */
export function instanceProblem(instance: Instance): string | undefined {
  if (typeof instance !== 'object' || instance === null) return 'generates nothing'
  const { question, key, steps } = instance
  if (typeof question !== 'string' || question.trim() === '' || !question.isWellFormed())
    return 'generates no `question`'
  if (question.length > MAX_CHARS) return `generates a question of more than ${MAX_CHARS} characters`
  if (typeof key !== 'string' || !key.isWellFormed()) return 'generates no `key`, the answer as a text'
  if (!Array.isArray(steps)) return 'generates no `steps`; if there are none, give an empty list'
  return undefined
}

export function verdictOf(verdict: Verdict): Verdict {
  const { score, answer, found } = (verdict ?? {}) as Partial<Verdict>
  if (!(typeof score === 'number' && score >= 0 && score <= 1))
    throw new Error('`verify` gave no score from 0 to 1')
  if (answer !== null && typeof answer !== 'string')
    throw new Error('`verify` gave no `answer`: a text, or null if it found none')
  if (!['tag', 'last-line', 'none'].includes(found!))
    throw new Error('`verify` gave no `found`: "tag", "last-line" or "none"')
  return { ...verdict, answer: answer?.slice(0, 256).toWellFormed() ?? null }
}

/** Throws unless an episode can go on with it. */
export function outcomeOf(outcome: Outcome): Outcome {
  const { observation, reward, done } = (outcome ?? {}) as Partial<Outcome>
  if (typeof observation !== 'string' || observation.length > MAX_CHARS)
    throw new Error(`\`step\` gave no \`observation\` of at most ${MAX_CHARS} characters`)
  if (!(typeof reward === 'number' && Math.abs(reward) <= 1) || typeof done !== 'boolean')
    throw new Error('`step` gave no `reward` from -1 to 1 and `done`')
  return outcome
}
