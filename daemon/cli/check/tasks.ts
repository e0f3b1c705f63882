// Checks the tasks: each is known and has the given difficulty, and the datasets of tasks and environments can be read.

import type { Task } from '../../../protocol/plugin/index.ts'
import type { Loaded } from '../../config/load.ts'
import type { Config } from '../../config/schema.ts'
import type { Problem } from '../../config/sources.ts'
import { choiceProblem } from '../../rollout/tasks.ts'
import { type LoadParts, loadTasks } from '../../wiring/built-in.ts'
import { readRows } from '../../wiring/environments.ts'
import { loadKeptVerifier } from '../../wiring/kept-verifier.ts'
import { attempt, problemAt } from './problem.ts'

export async function tasksHere(
  { config, originOf }: Pick<Loaded, 'config' | 'originOf'>,
  parts: Partial<LoadParts>,
): Promise<{ tasks: Task[]; problems: Problem[] }> {
  let tasks: Task[] = []
  const load = async (choices: Config['tasks']) => {
    tasks = await loadTasks(choices, parts)
  }
  const problems: Problem[] = []
  const broken = new Set<string>()
  if ((await attempt(['tasks'], originOf, () => load(config.tasks))).length > 0) {
    // loadTasks stops at the first mistake, so each dataset is loaded on its own.
    for (const [i, choice] of config.tasks.entries()) {
      if (choice.dataset === undefined && choice.use === undefined) continue
      const found = await attempt(['tasks', i, 'dataset'], originOf, () => load([choice]))
      if (found.length > 0) broken.add(choice.name)
      problems.push(...found)
    }
    const whole = config.tasks.filter(({ name }) => !broken.has(name))
    const clashes = await attempt(['tasks'], originOf, () => load(whole))
    if (clashes.length > 0) return { tasks: [], problems: [...problems, ...clashes] }
  }
  for (const [i, choice] of config.tasks.entries()) {
    const message = broken.has(choice.name) ? undefined : choiceProblem(choice, tasks)
    if (message !== undefined) problems.push(problemAt(['tasks', i], message, originOf))
  }
  problems.push(...(await attempt(['agents', 'verifier'], originOf, () => loadKeptVerifier(config.agents))))
  for (const [i, environment] of config.environments.entries())
    problems.push(...(await attempt(['environments', i, 'dataset'], originOf, () => readRows(environment))))
  return { tasks, problems }
}
