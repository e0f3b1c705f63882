// Loads a task, or an environment, from a file that the config names. Before the node starts, its checks generate some
// prompts twice and score some answers. While the node runs, an answer on which the task fails scores 0.

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Fault } from '../../plugins/tasks/dataset/index.ts'
import { type Environment, type Outcome, PLUGIN_API, type Task } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type Instance, type Verdict } from '../../protocol/train/index.ts'
import { withDeadline } from '../policy/chat/deadline.ts'
import { loadOwnFile } from './own-file.ts'
import type { VerifierParts } from './verifier-files.ts'

const MAX_MS = 250
const MAX_CHARS = 65_536
/** Prompts that are tried for each level of difficulty, of training and of evaluation each. */
const TRIED = 32
const TRIED_LEVELS = 8

/** Rejects with Fault. `name` is the one in the config, which has to be the task's own. */
export async function loadTaskFile(
  { name, path }: { name: string; path: string },
  { onTrouble }: VerifierParts,
): Promise<Task> {
  const { value, digest } = await loadOwnFile(path, 'task')
  const task = asTask(value, name)
  tryOut(task)
  let failures = 0
  const guarded = <Result>(compute: () => Result, otherwise: Result): Result => {
    try {
      return withDeadline(`task ${name}`, MAX_MS, compute)
    } catch (error) {
      failures++
      if (Math.log2(failures) % 1 === 0)
        onTrouble({ name, message: `${messageOf(error)}; the answer scores 0` })
      return otherwise
    }
  }
  return {
    ...task,
    version: createHash('sha256').update(`${task.version}\n${digest}`).digest().readUInt32BE(0) || 1,
    verify: (instance, completion) =>
      guarded(() => verdictOf(task.verify(instance, completion)), { score: 0, answer: null, found: 'none' }),
    ...(task.environment && { environment: guardedEnvironment(task.environment, guarded) }),
  }
}

/** An episode ends with the answer on which the environment fails. */
function guardedEnvironment(
  inner: Environment,
  guarded: <Result>(compute: () => Result, otherwise: Result) => Result,
): Environment {
  return {
    ...inner,
    step: (state, answer) =>
      guarded(() => outcomeOf(inner.step(state, answer)), { state, observation: '', reward: 0, done: true }),
  }
}

function asTask(value: unknown, name: string): Task {
  const task = value as Partial<Task> | null | undefined
  if (!task || typeof task !== 'object' || typeof task.generate !== 'function' || task.kind !== 'task')
    throw new Fault(
      'has no task as its default export; create one with defineTask() or, for several turns, defineEnvironment()',
    )
  if (task.api !== PLUGIN_API)
    throw new Fault(`is made for plugin API ${String(task.api)}, this is ${PLUGIN_API}`)
  if (task.name !== name)
    throw new Fault(`has the task "${String(task.name).slice(0, 64)}"; use that name in the config`)
  if (typeof task.verify !== 'function') throw new Fault('has no function `verify`')
  if (!isUint(task.version)) throw new Fault('`version` must be a whole number from 0 up')
  const { min, max, default: initial, describe } = (task.difficulty ?? {}) as Partial<Task['difficulty']>
  if (!isUint(min) || !isUint(max) || !isUint(initial) || !(min <= initial && initial <= max && max <= 1000))
    throw new Fault('`difficulty` needs whole numbers from 0 to 1000: min, default and max, in this order')
  if (typeof describe !== 'function') throw new Fault('`difficulty` has no function `describe`')
  const { environment } = task
  if (
    environment &&
    !(['reset', 'step', 'key'] as const).every((of) => typeof environment[of] === 'function')
  )
    throw new Fault('`environment` needs the functions `reset`, `step` and `key`')
  return task as Task
}

const isUint = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0

/** Throws Fault for the first prompt or answer with which it does not keep what `Task` promises. */
function tryOut(task: Task): void {
  const { min, max, default: initial } = task.difficulty
  const levels = [...new Set([initial, min, max, ...Array.from({ length: max - min }, (_, i) => min + i)])]
  for (const difficulty of levels.slice(0, TRIED_LEVELS)) {
    const asked = new Map<string, number>()
    for (let i = 0; i < TRIED; i++)
      for (const seed of [i, HELD_OUT_SEED + i]) {
        const where = `seed ${seed} at difficulty ${difficulty}`
        const { question } = tryPrompt(task, { seed, difficulty }, where)
        const other = asked.get(question) ?? seed
        if (other >= HELD_OUT_SEED !== seed >= HELD_OUT_SEED)
          throw new Fault(
            `asks the same question with ${where} and seed ${other}; evaluation, whose seeds begin at ${HELD_OUT_SEED}, must never ask what training asks`,
          )
        asked.set(question, seed)
      }
  }
}

function tryPrompt(task: Task, at: { seed: number; difficulty: number }, where: string): Instance {
  try {
    const run = () => [task.generate({ ...at }), task.generate({ ...at })] as const
    const [instance, again] = withDeadline(`task ${task.name}`, MAX_MS, run)
    const problem = instanceProblem(instance)
    if (problem !== undefined) throw new Error(problem)
    if (!isDeepStrictEqual(plainOf(instance), plainOf(again)))
      throw new Error('gives two different prompts; it must depend only on seed and difficulty')
    for (const text of ['', instance.key, `<answer>${instance.key}</answer>`]) tryAnswer(task, instance, text)
    return instance
  } catch (error) {
    throw new Fault(`${messageOf(error)}, with ${where}`)
  }
}

function tryAnswer(task: Task, instance: Instance, text: string): void {
  const run = () => [1, 2].map(() => verdictOf(task.verify(plainOf(instance), text)))
  const [first, second] = withDeadline(`task ${task.name}`, MAX_MS, run)
  if (!isDeepStrictEqual(first, second))
    throw new Error('gives two verdicts on one answer; it must depend only on its input')
}

/** As it is after a checkpoint or a message. */
const plainOf = (instance: Instance): Instance => JSON.parse(JSON.stringify(instance)) as Instance

function instanceProblem(instance: Instance): string | undefined {
  if (typeof instance !== 'object' || instance === null) return 'generates nothing'
  const { question, key, steps } = instance
  if (typeof question !== 'string' || question.trim() === '' || !question.isWellFormed())
    return 'generates no `question`'
  if (question.length > MAX_CHARS) return `generates a question of more than ${MAX_CHARS} characters`
  if (typeof key !== 'string' || !key.isWellFormed()) return 'generates no `key`, the answer as a text'
  if (!Array.isArray(steps)) return 'generates no `steps`; if there are none, give an empty list'
  return undefined
}

function verdictOf(verdict: Verdict): Verdict {
  const { score, answer, found } = (verdict ?? {}) as Partial<Verdict>
  if (!(typeof score === 'number' && score >= 0 && score <= 1))
    throw new Error('`verify` gave no score from 0 to 1')
  if (answer !== null && typeof answer !== 'string')
    throw new Error('`verify` gave no `answer`: a text, or null if it found none')
  if (!['tag', 'last-line', 'none'].includes(found!))
    throw new Error('`verify` gave no `found`: "tag", "last-line" or "none"')
  return { ...verdict, answer: answer?.slice(0, 256).toWellFormed() ?? null }
}

function outcomeOf(outcome: Outcome): Outcome {
  const { observation, reward, done } = (outcome ?? {}) as Partial<Outcome>
  if (typeof observation !== 'string' || observation.length > MAX_CHARS)
    throw new Error(`\`step\` gave no \`observation\` of at most ${MAX_CHARS} characters`)
  if (!(typeof reward === 'number' && Math.abs(reward) <= 1) || typeof done !== 'boolean')
    throw new Error('`step` gave no `reward` from -1 to 1 and `done`')
  return outcome
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message.slice(0, 300) : 'threw something that is not an Error'
