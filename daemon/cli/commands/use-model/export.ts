// waggle export: a run as a table. Exports of the model are in model/export-model.ts.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Event } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { listRuns } from '../../../control/journal/run-file.ts'
import type { Context } from '../../contract.ts'

export async function run(context: Context): Promise<number> {
  if (context.arguments[0] === 'run') return exportRun(context)
  return await (await import('../../model/export-model.ts')).exportModel(context)
}

/** One row per step and evaluation, with a column for every metric. */
function exportRun({ options, paths, io, json, out, arguments: [, given = 'last'] }: Context): number {
  const file = given === 'last' ? listRuns(paths.runs)[0] : resolve(io.cwd, given)
  if (!file || !existsSync(file)) {
    throw new WaggleError('E_USAGE', file ? `there is no ${file}` : `no run was recorded in ${paths.runs}`, {
      hint: '`waggle up` records its run.',
    })
  }
  if (statSync(file).isDirectory()) {
    throw new WaggleError('E_USAGE', `${file} is a folder, not the file of a run`, {
      hint: `Give a file, such as one of those in ${paths.runs}. The table is printed: \`waggle export run > run.csv\` keeps it.`,
    })
  }
  const format = options.format ?? (json ? 'jsonl' : 'csv')
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
    // A crash can leave an incomplete line.
    return []
  }
}
