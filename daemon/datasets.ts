// The tasks of a config: those that come along, and one for each dataset that it names. Beside the composition roots,
// since only here do the config and the tasks meet; nodes, `config check`, `doctor` and `score` all ask it.

import { basename } from 'node:path'
import {
  datasetTask,
  gather,
  type Judge,
  MAX_PROBLEMS,
  type Problem,
  readJudge,
} from '../plugins/tasks/dataset/index.ts'
import { TASKS } from '../plugins/tasks/index.ts'
import { WaggleError } from '../protocol/errors.ts'
import type { Task } from '../protocol/plugin/index.ts'
import { safeText } from '../protocol/text.ts'
import type { TaskConfig } from './config/schema.ts'
import { messageOf, readFiles } from './dataset-files.ts'

/** Rejects with E_DATASET, with every mistake that was found, or E_TASK for a name that is taken. */
export async function loadTasks(chosen: readonly TaskConfig[]): Promise<Task[]> {
  const tasks = [...TASKS]
  const loaded = new Map<string, string>()
  for (const { name, dataset, verifier = 'exact' } of chosen) {
    if (dataset === undefined) continue
    const source = JSON.stringify([dataset, verifier])
    if (loaded.get(name) === source) continue
    if (tasks.some((task) => task.name === name))
      throw new WaggleError('E_TASK', `the dataset ${dataset} has the name of another task, "${name}"`, {
        hint: loaded.has(name)
          ? 'Entries of one name must have the same dataset and verifier; give the other its own name.'
          : 'Give it another name in the config.',
      })
    loaded.set(name, source)
    tasks.push(await loadDataset({ name, path: dataset, verifier }))
  }
  return tasks
}

async function loadDataset(options: { name: string; path: string; verifier: unknown }): Promise<Task> {
  const { name, path } = options
  let usual: Judge
  try {
    usual = readJudge(options.verifier)
  } catch (error) {
    throw wrong(path, [{ where: `tasks, "${name}"`, message: messageOf(error) }])
  }
  const gathering = gather(usual)
  await readFiles(path, gathering)
  const { rows, problems } = gathering.result()
  if (problems.length > 0) throw wrong(path, problems)
  try {
    return datasetTask(name, rows)
  } catch (error) {
    throw wrong(path, [{ where: basename(path), message: messageOf(error) }])
  }
}

function wrong(path: string, problems: readonly Problem[]): WaggleError {
  const rows = problems.map(({ where, message }) => `  ${where}  ${message}`)
  const more =
    problems.length >= MAX_PROBLEMS ? `\n  and perhaps more: these are the first ${MAX_PROBLEMS}` : ''
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  return new WaggleError(
    'E_DATASET',
    safeText(`the dataset ${path} has ${count}\n${rows.join('\n')}${more}`, { limit: 16_384 }),
    {
      hint: 'Correct it, then try `waggle config check`. The tutorial shows a dataset, and `waggle help config` the keys.',
      data: { path, problems: [...problems] },
    },
  )
}
