// Records of an experiment's runs, one JSON line each, so that an interrupted experiment continues where it stopped.

import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface Records<Run> {
  readonly done: readonly Run[]
  add(run: Run): Promise<void>
}

/** A last line that was cut off is dropped: its run is made again. */
export async function openRecords<Run>(path: string): Promise<Records<Run>> {
  await mkdir(dirname(path), { recursive: true })
  const text = await readFile(path, 'utf8').catch(() => '')
  const done: Run[] = text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Run)
  return {
    done,
    async add(run) {
      done.push(run)
      await appendFile(path, `${JSON.stringify(run)}\n`)
    },
  }
}
