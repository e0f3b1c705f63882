// Loads the tasks of a config: the built-in ones, and one for each dataset and each file. Used by nodes,
// `config check`, `doctor` and `score`. Verifier paths are already resolved, so a verifier with a slash is a file.

import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import {
  datasetTask,
  type Fields,
  gather,
  type Judge,
  MAX_PROBLEMS,
  type Problem,
  readJudge,
} from '../../plugins/tasks/dataset/index.ts'
import { withExamples } from '../../plugins/tasks/examples.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import { safeText } from '../../protocol/text.ts'
import type { TaskConfig } from '../config/schema.ts'
import type { Part } from '../policy/sources/splits.ts'
import { messageOf, type ReadAt, readFiles } from './dataset-files.ts'
import { loadTaskFile } from './task-files.ts'
import { type LoadedVerifier, loadVerifier, type VerifierParts } from './verifier-files.ts'

/** What a dataset has in it. */
export interface DatasetFacts {
  name: string
  path: string
  /** Different questions. */
  questions: number
  heldOut: number
  /** Rows that repeat an earlier one, and are left out. */
  repeated: number
}

export interface LoadParts extends VerifierParts {
  /** Called for each dataset that was read. */
  onDataset(facts: DatasetFacts): void
  /** Finds or fetches a dataset on the hub. */
  find(dataset: string, part: Part): Promise<{ name: string; files: readonly string[] }>
  /** Runs `read`, which tells how many bytes of a dataset's files are read. */
  onRead(read: (at: ReadAt) => Promise<void>): Promise<void>
}

/** `rows.csv: 6 questions, 1 of them held out; 2 rows repeat others and are left out`. */
export function datasetText({ path, questions, heldOut, repeated }: Omit<DatasetFacts, 'name'>): string {
  const left = repeated === 1 ? '1 row repeats another and is' : `${repeated} rows repeat others and are`
  return `${basename(path)}: ${questions} questions, ${heldOut} of them held out${repeated > 0 ? `; ${left} left out` : ''}`
}

/** Rejects with E_DATASET and all problems of a dataset, or with E_TASK for a duplicate name. */
export async function loadTasks(
  chosen: readonly TaskConfig[],
  {
    onTrouble = () => {},
    onDataset = () => {},
    find = noHub,
    onRead = (read) => read(() => {}),
  }: Partial<LoadParts> = {},
): Promise<Task[]> {
  const tasks = [...TASKS]
  const loaded = new Map<string, string>()
  for (const { name, use, dataset, fields, verifier = 'exact', subset, split = 'train' } of chosen) {
    const path = use ?? dataset
    if (path === undefined) continue
    const source = JSON.stringify(use === undefined ? [dataset, subset, split, fields, verifier] : use)
    if (loaded.get(name) === source) continue
    if (tasks.some((task) => task.name === name))
      throw new WaggleError('E_TASK', `${path} has the same name as another task: "${name}"`, {
        hint: loaded.has(name)
          ? 'Entries with the same name must have the same file or dataset, fields and verifier; otherwise use another name.'
          : 'Choose another name in the config.',
      })
    loaded.set(name, source)
    const parts = { onTrouble, onDataset, find, onRead }
    if (use === undefined)
      tasks.push(await loadDataset({ name, path, part: { subset, split }, fields, verifier }, parts))
    else tasks.push(await loadTaskFile({ name, path }, parts).catch((error) => wrongFile(error, path)))
  }
  return tasks.map((task) => withExamples(task, examplesOf(task.name, chosen)))
}

/** Throws E_TASK if entries of one task differ, since a task has the same examples at all difficulties. */
function examplesOf(name: string, chosen: readonly TaskConfig[]): number {
  const counts = new Set(chosen.filter((entry) => entry.name === name).map(({ examples = 0 }) => examples))
  if (counts.size <= 1) return [...counts][0] ?? 0
  throw new WaggleError(
    'E_TASK',
    `the entries of the task "${name}" ask for ${[...counts].join(' and ')} examples`,
    {
      hint: 'Give all entries with this name the same number of examples.',
    },
  )
}

interface DatasetOptions {
  name: string
  path: string
  part: Part
  fields: Fields | undefined
  verifier: NonNullable<TaskConfig['verifier']>
}

async function noHub(dataset: string): Promise<never> {
  throw new WaggleError('E_DATASET', `${dataset} is on the hub, which is not asked here`)
}

async function loadDataset(
  { name, path: given, part, fields, verifier }: DatasetOptions,
  parts: LoadParts,
): Promise<Task> {
  const found = given.startsWith('hf://') ? await parts.find(given, part) : { name: given, files: given }
  const path = found.name
  const { use, ...settings } = typeof verifier === 'string' ? { use: verifier } : verifier
  const file = /[/\\]/.test(use) ? use : undefined
  let own: LoadedVerifier | undefined
  let defaultJudge: Judge
  try {
    own = file === undefined ? undefined : await loadVerifier(file, settings, parts)
    defaultJudge = own?.judge ?? readJudge(verifier)
  } catch (error) {
    throw wrongVerifier(messageOf(error), { name, path, file })
  }
  const gathering = gather({ defaultJudge, fields })
  await parts.onRead((at) => readFiles(found.files, gathering, at))
  const { rows, problems, repeated } = gathering.result()
  if (problems.length > 0) throw wrong(path, problems)
  const problem = own?.problemWith(rows)
  if (problem !== undefined) throw wrongVerifier(problem, { name, path, file })
  try {
    const task = datasetTask(name, rows)
    const heldOut = task.finite!.heldOut(task.difficulty.max)
    parts.onDataset({ name, path, questions: rows.length, heldOut, repeated })
    return task
  } catch (error) {
    throw wrong(path, [{ where: basename(path), message: messageOf(error) }])
  }
}

function wrongFile(error: unknown, path: string): never {
  const problem = { where: basename(path), message: messageOf(error) }
  throw listed(`the task ${path}`, [problem], { key: 'use', file: path })
}

/** `file` is the verifier's, if it is not a built-in one. */
function wrongVerifier(
  message: string,
  { name, path, file }: { name: string; path: string; file: string | undefined },
): WaggleError {
  const where = file === undefined ? `tasks, "${name}"` : basename(file)
  return listed(
    `the verifier ${file ?? ''} of the dataset ${path}`.replace('  ', ' '),
    [{ where, message }],
    {
      key: 'verifier',
      file,
    },
  )
}

const wrong = (path: string, problems: readonly Problem[]): WaggleError =>
  listed(`the dataset ${path}`, problems, { key: 'dataset', file: path })

/** `key` of the task's entry names `file`, which has the problems; the entry itself has them if it is undefined or not there. */
function listed(
  what: string,
  problems: readonly Problem[],
  { key, file: named }: { key: string; file: string | undefined },
): WaggleError {
  const file = named !== undefined && existsSync(named) ? named : undefined
  const rows = problems.map(({ where, message }) => `  ${where}  ${message}`)
  const more =
    problems.length >= MAX_PROBLEMS ? `\n  and possibly more: these are the first ${MAX_PROBLEMS}` : ''
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  return new WaggleError(
    'E_DATASET',
    safeText(`${what} has ${count}\n${rows.join('\n')}${more}`, { limit: 16_384 }),
    {
      hint: `Correct ${file ?? 'the config'}, then run \`waggle config check\`. The tutorial has an example dataset; \`waggle help config\` explains the keys.`,
      data: { key, file, problems: [...problems] },
    },
  )
}
