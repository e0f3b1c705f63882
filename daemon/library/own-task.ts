// A task that a program passes as an object. What it computes while the model answers runs inside the engine's messages,
// where an error of its own would end the program.

import { WaggleError } from '../../protocol/errors.ts'
import { PLUGIN_API, type Task } from '../../protocol/plugin/index.ts'
import { asTask, type Guard, guardedCalls, instanceProblem } from '../../protocol/plugin/task-checks.ts'

/** Throws E_TASK if it lacks something. */
export function ownTask(given: Task, onTrouble: (text: string) => void): Task {
  const { name } = given
  const refuse = (problem: string, cause?: unknown): never => {
    throw new WaggleError('E_TASK', `the task "${name}" ${problem}`, { cause })
  }
  if (typeof given.generate !== 'function') refuse('has no function `generate`')
  let task: Task
  try {
    // Methods may lie in a class, so that nothing is copied.
    const { kind = 'task', api = PLUGIN_API } = given
    task = asTask(Object.assign(Object.create(given), { kind, api }), name)
  } catch (error) {
    return refuse((error as Error).message, error)
  }
  const guarded: Guard = (compute, otherwise) => {
    try {
      return compute()
    } catch (error) {
      onTrouble(`task ${name}: ${messageOf(error)}`)
      return otherwise
    }
  }
  return Object.assign(Object.create(task), guardedCalls(task, guarded), {
    generate(at: Parameters<Task['generate']>[0]) {
      const where = `with seed ${at.seed} at difficulty ${at.difficulty}`
      try {
        const instance = task.generate(at)
        const problem = instanceProblem(instance)
        return problem === undefined ? instance : refuse(`${problem}, ${where}`)
      } catch (error) {
        if (error instanceof WaggleError || error instanceof RangeError) throw error
        return refuse(`cannot generate ${where}: ${messageOf(error)}`, error)
      }
    },
  })
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
