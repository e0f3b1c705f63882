// Puts solved examples before a task's questions, as earlier turns (few-shot prompting, Brown et al. 2020).
//
// A small model that was not trained on answer tags rarely writes them if it is only told to, and a model that is never
// right has nothing to learn from. One example shows the form of an answer.
//
// Each node decides for itself whether to use examples. They do not change a task's name, version, questions, keys or
// verdicts, so peers with and without examples can share groups. For built-in tasks, examples are questions from the
// warm start's part, which are neither trained on nor evaluated. For a dataset they are training rows. A question is
// never its own example.

import type { Task } from '../../protocol/plugin/index.ts'
import type { Example } from '../../protocol/train/index.ts'

/** Adds examples to a task. Tasks with turns stay unchanged, since their first answer is not the whole answer. */
export function withExamples(task: Task, count: number): Task {
  if (count === 0 || task.environment) return task
  const known = new Map<number, readonly Example[]>()
  const examplesAt = (difficulty: number): readonly Example[] => {
    // One more than needed, in case one of them is the question itself.
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

/** Different solved questions, or fewer if the task has fewer. Those without steps have no answer to show. */
function solved(task: Task, difficulty: number, count: number): Example[] {
  const found = new Map<string, Example>()
  for (let seed = 0; seed < TRIES * count && found.size < count; seed++) {
    const { question, key, steps } = task.generate({ seed, difficulty, warmStart: true })
    if (steps.length > 0) found.set(question, { question, answer: `<answer>${key}</answer>` })
  }
  return [...found.values()]
}
