// The tasks that a node knows, by name and version, and which of them its config asks for.

import { WaggleError } from '../../protocol/errors.ts'
import type { SelectView, Task } from '../../protocol/plugin/index.ts'

export interface TaskChoice {
  name: string
  difficulty?: number | undefined
}

export interface TaskBook {
  /** The task under this name, if its version is this one. */
  find(name: string, version: number): Task | undefined
  /** What the config asks for, in its order. */
  readonly chosen: ReadonlyArray<{ task: Task; difficulty: number }>
  readonly view: SelectView['tasks']
}

export function createTaskBook(tasks: readonly Task[], choices: readonly TaskChoice[]): TaskBook {
  const chosen = choices.map(({ name, difficulty }) => {
    const task = tasks.find((candidate) => candidate.name === name)
    if (!task) {
      throw new WaggleError('E_TASK', `there is no task "${name}"`, {
        hint: `Known tasks: ${tasks.map((t) => t.name).join(', ')}.`,
      })
    }
    const level = difficulty ?? task.difficulty.default
    const { min, max } = task.difficulty
    if (level < min || level > max) {
      throw new WaggleError(
        'E_TASK',
        `${name} has difficulties ${min} to ${max}, the config asks for ${level}`,
      )
    }
    return { task, difficulty: level }
  })
  return {
    find: (name, version) => tasks.find((task) => task.name === name && task.version === version),
    chosen,
    view: chosen.map(({ task, difficulty }) => ({
      name: task.name,
      version: task.version,
      difficulty,
      minDifficulty: task.difficulty.min,
      maxDifficulty: task.difficulty.max,
    })),
  }
}

/** Questions like those that will be asked, for a look at how long they are. */
export function sampleQuestions(tasks: readonly Task[], choices: readonly TaskChoice[], each = 16): string[] {
  return createTaskBook(tasks, choices).chosen.flatMap(({ task, difficulty }) => [
    ...Array.from({ length: each }, (_, seed) => task.generate({ seed, difficulty }).question),
    ...(task.finite ? [task.finite.longest(difficulty)] : []),
  ])
}
