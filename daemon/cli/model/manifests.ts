// The checkpoints of a home by their manifests alone, for commands.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { type TrainedMeta, trainedMeta } from '../../policy/trained.ts'

export interface CheckpointHere extends TrainedMeta {
  folder: string
  /** Name of the folder. */
  name: string
  step: number
  lineage: string
  /** ms since the epoch. */
  savedAt: number
  /** Total size of its files. */
  bytes: number
}

/** Newest first. Reads only the manifests; the files are verified when they are loaded. */
export function checkpointsHere(directory: string): CheckpointHere[] {
  return namesIn(directory).flatMap((name) => {
    const folder = join(directory, name)
    try {
      // The manifest is written last, so a checkpoint without one is incomplete.
      const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
      const { step, lineage, savedAt, meta, files } = manifest as CheckpointHere & {
        meta: unknown
        files: Record<string, { bytes: number }>
      }
      const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, 0)
      return [{ folder, name, step, lineage, savedAt, bytes, ...trainedMeta(meta) }]
    } catch {
      // Skipped: incomplete.
      return []
    }
  })
}

/** Newest first. Throws E_HOME if the folder is there and cannot be read. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort().reverse()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new WaggleError('E_HOME', `cannot read ${directory}: ${(cause as Error).message}`, {
      hint: 'Run this command as the user of that node, or use another --home DIR.',
      cause,
    })
  }
}

export const newestCheckpoint = (directory: string): CheckpointHere | undefined =>
  checkpointsHere(directory)[0]

/** The newest checkpoint of a model, named as in the config: `default`, or its folder or GGUF file. */
export const newestOf = (directory: string, model: string): CheckpointHere | undefined =>
  checkpointsHere(directory).find(({ base }) => base?.name === model || base?.directory === model)
