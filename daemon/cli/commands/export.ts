// waggle export: a run's numbers as a table, or the newest checkpoint as a model folder in Hugging Face's layout.

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Event } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { listRuns } from '../../control/run-file.ts'
import type { Context } from '../context.ts'
import { contextConfig } from '../load-config.ts'

export async function run(context: Context): Promise<number> {
  return context.arguments[0] === 'model' ? exportModel(context) : exportRun(context)
}

/** One row per step; columns are all numbers that any step has. */
function exportRun({ options, paths, io, out, arguments: [, given = 'last'] }: Context): number {
  const file = given === 'last' ? listRuns(paths.runs)[0] : resolve(io.cwd, given)
  if (!file || !existsSync(file)) {
    throw new WaggleError('E_USAGE', file ? `there is no ${file}` : `no run was recorded in ${paths.runs}`, {
      hint: 'A run is recorded while `waggle up` runs.',
    })
  }
  const format = options.format ?? 'csv'
  if (format !== 'csv' && format !== 'jsonl')
    throw new WaggleError('E_USAGE', `--format must be csv or jsonl, not "${format}"`)
  const rows = readFileSync(file, 'utf8').split('\n').flatMap(rowOf)
  if (format === 'jsonl') {
    for (const row of rows) out(JSON.stringify(row))
    return 0
  }
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  out(columns.join(','))
  for (const row of rows) out(columns.map((column) => row[column] ?? '').join(','))
  return 0
}

function rowOf(line: string): Array<Record<string, number>> {
  try {
    const event = JSON.parse(line) as Event
    if (event.type === 'step') return [{ time: event.time, step: event.step, ...event.metrics }]
    if (event.type !== 'eval') return []
    const tasks = Object.entries(event.tasks).map(([task, accuracy]) => [`eval_${task}`, accuracy])
    return [
      { time: event.time, step: event.step, eval_accuracy: event.accuracy, ...Object.fromEntries(tasks) },
    ]
  } catch {
    // A line that a crash cut in half.
    return []
  }
}

/** Weights from the newest checkpoint; what describes them, from the model that training started from. */
function exportModel(context: Context): number {
  const {
    paths,
    io,
    options,
    arguments: [, given],
  } = context
  if (given === undefined)
    throw new WaggleError('E_USAGE', 'export model needs a folder to write to', {
      hint: 'For example `waggle export model ./trained`.',
    })
  const target = resolve(io.cwd, given)
  if (existsSync(target) && readdirSync(target).length > 0 && options.force !== true) {
    throw new WaggleError('E_USAGE', `${target} is not empty`, {
      hint: 'Choose another folder, or overwrite with --force.',
    })
  }
  const checkpoint = newestCheckpoint(paths.checkpoints)
  const { config } = contextConfig(context)
  const source =
    config.model.path === 'default' ? join(io.packageRoot, 'models', 'default') : config.model.path
  try {
    mkdirSync(target, { recursive: true })
    for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'generation_config.json']) {
      if (existsSync(join(source, name))) copyFileSync(join(source, name), join(target, name))
    }
    copyFileSync(join(checkpoint.folder, 'model.safetensors'), join(target, 'model.safetensors'))
    writeFileSync(
      join(target, 'README.md'),
      `# Trained with Waggle\n\nStep ${checkpoint.step} of lineage ${checkpoint.lineage}, from ${config.model.path}.\n`,
    )
  } catch (cause) {
    throw new WaggleError('E_HOME', `cannot write ${target}: ${(cause as Error).message}`, {
      hint: 'Check its permissions and the room on the disk.',
      cause,
    })
  }
  context.out(
    context.json
      ? JSON.stringify({ v: 1, path: target, step: checkpoint.step, lineage: checkpoint.lineage })
      : target,
  )
  context.say(`step ${checkpoint.step}; try it with \`${io.program} up --model ${target} --home DIR\``)
  return 0
}

function newestCheckpoint(directory: string): { folder: string; step: number; lineage: string } {
  const names = existsSync(directory) ? readdirSync(directory).sort().reverse() : []
  for (const name of names) {
    const folder = join(directory, name)
    try {
      // The manifest is written last, so a checkpoint without one is not whole.
      const { step, lineage } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
        step: number
        lineage: string
      }
      return { folder, step, lineage }
    } catch {
      // An older one may do.
    }
  }
  throw new WaggleError('E_CHECKPOINT', `there is no checkpoint in ${directory}`, {
    hint: 'Train first: `waggle up`, then `waggle checkpoint`.',
  })
}
