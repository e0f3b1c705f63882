// Loads a task, or an environment, from a file that the config names. Before the node starts, its checks generate some
// prompts twice and score some answers. While the node runs, an answer on which the task fails scores 0.

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Fault } from '../../plugins/tasks/dataset/index.ts'
import { type Environment, type Task, TURN_MARK } from '../../protocol/plugin/index.ts'
import {
  asTask,
  type Guard,
  guardedCalls,
  instanceProblem,
  outcomeOf,
  verdictOf,
} from '../../protocol/plugin/task-checks.ts'
import { HELD_OUT_SEED, type Instance } from '../../protocol/train/index.ts'
import { withDeadline } from '../policy/chat/deadline.ts'
import { loadOwnFile } from './own-file.ts'
import type { VerifierParts } from './verifier-files.ts'

const MAX_MS = 250
/** Prompts that are tried for each level of difficulty, of training and of evaluation each. */
const TRIED = 32
const TRIED_LEVELS = 8

/** Rejects with Fault. `name` is the one in the config, which has to be the task's own. */
export async function loadTaskFile(
  { name, path }: { name: string; path: string },
  { onTrouble }: VerifierParts,
): Promise<Task> {
  const { value, digest } = await loadOwnFile(path, 'task')
  const task = taskOf(value, name)
  tryOut(task)
  let failures = 0
  const guarded: Guard = (compute, otherwise) => {
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
    ...guardedCalls(task, guarded),
  }
}

function taskOf(value: unknown, name: string): Task {
  try {
    return asTask(value, name)
  } catch (error) {
    throw new Fault(messageOf(error))
  }
}

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
    if (task.environment) tryEpisode(task, task.environment, plainOf(instance))
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

/** The turns of the key, and one that says nothing. */
function tryEpisode({ name }: Task, environment: Environment, instance: Instance): void {
  for (const text of [instance.key, '']) {
    let state = environment.reset(instance)
    for (const answer of text.split(TURN_MARK)) {
      const run = () => [1, 2].map(() => outcomeOf(environment.step(state, answer)))
      const [first, second] = withDeadline(`task ${name}`, MAX_MS, run)
      if (!isDeepStrictEqual(first, second))
        throw new Error(
          '`step` gives two outcomes of one answer; it must depend only on its input, and not change it',
        )
      if (first!.done) break
      state = first!.state
    }
  }
}

/** As it is after a checkpoint or a message. */
const plainOf = (instance: Instance): Instance => JSON.parse(JSON.stringify(instance)) as Instance

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message.slice(0, 300) : 'threw something that is not an Error'
