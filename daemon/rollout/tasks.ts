// The tasks that a node knows, by name and version, and which of them its config chooses.

import { WaggleError } from '../../protocol/errors.ts'
import type { SelectView, Task } from '../../protocol/plugin/index.ts'
import { didYouMean } from '../../protocol/suggest.ts'
import type { Asked } from '../../protocol/train/index.ts'

export interface TaskChoice {
  name: string
  difficulty?: number | undefined
}

export interface TaskBook {
  /** The task of this name and version, if the config chose it: no other task may bring prompts or groups. */
  find(name: string, version: number): Task | undefined
  /** The tasks that the config chose, in its order. */
  readonly chosen: ReadonlyArray<{ task: Task; difficulty: number }>
  readonly view: SelectView['tasks']
}

/** Why a node cannot train on this task; undefined if it can. */
export function choiceProblem({ name, difficulty }: TaskChoice, tasks: readonly Task[]): string | undefined {
  const task = tasks.find((candidate) => candidate.name === name)
  if (!task) {
    const names = tasks.map((known) => known.name)
    return `there is no task "${name}".${didYouMean(name, names)} Known tasks: ${names.join(', ')}`
  }
  const { min, max } = task.difficulty
  if (difficulty === undefined || (difficulty >= min && difficulty <= max)) return undefined
  return min === max
    ? `${name} has only one difficulty: remove difficulty = ${difficulty}`
    : `${name} has difficulties ${min} to ${max}, not ${difficulty}`
}

export function createTaskBook(tasks: readonly Task[], choices: readonly TaskChoice[]): TaskBook {
  const chosen = choices.map(({ name, difficulty }) => {
    const problem = choiceProblem({ name, difficulty }, tasks)
    if (problem !== undefined) throw new WaggleError('E_TASK', problem)
    const task = tasks.find((candidate) => candidate.name === name)!
    const level = difficulty ?? task.difficulty.default
    return { task, difficulty: level }
  })
  return {
    find: (name, version) => chosen.find(({ task }) => task.name === name && task.version === version)?.task,
    chosen,
    view: chosen.map(({ task, difficulty }) => ({
      name: task.name,
      version: task.version,
      difficulty,
      minDifficulty: task.difficulty.min,
      maxDifficulty: task.difficulty.max,
      ...(task.finite && { questions: task.finite.training(difficulty) }),
    })),
  }
}

/** Sample questions of the chosen tasks, to estimate prompt lengths. */
export function sampleQuestions(tasks: readonly Task[], choices: readonly TaskChoice[], each = 16): Asked[] {
  return createTaskBook(tasks, choices).chosen.flatMap(({ task, difficulty }) => {
    const some = Array.from({ length: each }, (_, seed) => task.generate({ seed, difficulty }))
    const { examples } = some[0]!
    const longest = task.finite && {
      question: task.finite.longest(difficulty),
      ...(examples && { examples }),
    }
    return longest ? [...some, longest] : some
  })
}
