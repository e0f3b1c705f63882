// Puts solved examples before a task's questions, as earlier turns (few-shot prompting, Brown et al. 2020).
//
// A small model that was not trained for answer tags seldom writes them when it is only told to, and a model that is
// never right has nothing to learn from. One example shows the form of an answer.
//
// Examples are a node's own business: names, versions, questions, keys and verdicts stay the task's, so peers with and
// without examples share groups. Built-in tasks give questions of the warm start's part, which are neither trained on
// nor evaluated; a dataset gives training rows, and never a question as its own example.

import type { Task } from '../../protocol/plugin/index.ts'
import type { Example } from '../../protocol/train/index.ts'

/** The task as it is if it has turns: the first answer there is not the whole answer. */
export function withExamples(task: Task, count: number): Task {
  if (count === 0 || task.environment) return task
  const known = new Map<number, readonly Example[]>()
  const examplesAt = (difficulty: number): readonly Example[] => {
    // One to spare, for when one of them is the question.
    const found = known.get(difficulty) ?? solved(task, difficulty, count + 1)
    known.set(difficulty, found)
    return found
  }
  return {
    ...task,
    generate(at) {
      const instance = task.generate(at)
      const examples = examplesAt(at.difficulty)
        .filter(({ question }) => question !== instance.question)
        .slice(0, count)
      return { ...instance, examples }
    },
  }
}

/** Seeds tried for each example. */
const TRIES = 16

/** Different questions; fewer if the task has not so many. Without steps there is no answer to show, only a pattern. */
function solved(task: Task, difficulty: number, count: number): Example[] {
  const found = new Map<string, Example>()
  for (let seed = 0; seed < TRIES * count && found.size < count; seed++) {
    const { question, key, steps } = task.generate({ seed, difficulty, warmStart: true })
    if (steps.length > 0) found.set(question, { question, answer: `<answer>${key}</answer>` })
  }
  return [...found.values()]
}
