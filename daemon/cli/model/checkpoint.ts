// The checkpoints of a home, and the model of the newest one, for commands.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { loadModel, type Model } from '../../policy/model.ts'
import { applyTrained, type TrainedMeta, trainedMeta } from '../../policy/trained.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { Context } from '../context.ts'
import { contextConfig } from '../load-config.ts'
import { locateModel } from './locate.ts'

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
  const names = existsSync(directory) ? readdirSync(directory).sort().reverse() : []
  return names.flatMap((name) => {
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

export const newestCheckpoint = (directory: string): CheckpointHere | undefined =>
  checkpointsHere(directory)[0]

/** The model that a checkpoint started from: the one recorded in it if that still exists, otherwise the config's. */
export async function loadBase(context: Context, checkpoint: CheckpointHere): Promise<Model> {
  const { base } = checkpoint
  if (base && isModelThere(base.directory)) return await loadModel(base.directory, { disk })
  const { config } = contextConfig(context)
  return await loadModel((await locateModel(context, config.model.path)).directory, { disk })
}

/** A GGUF file, or a folder with a config.json. */
function isModelThere(path: string): boolean {
  const facts = statSync(path, { throwIfNoEntry: false })
  return facts?.isFile() || existsSync(join(path, 'config.json'))
}

/**
 * The result of `load` for the newest checkpoint; undefined if there is none. If a training node removes the checkpoint
 * while it is read, the one that took its place is read instead.
 */
export async function loadNewest<Loaded>(
  directory: string,
  load: (checkpoint: CheckpointHere) => Promise<Loaded>,
): Promise<Loaded | undefined> {
  let checkpoint = newestCheckpoint(directory)
  while (checkpoint) {
    try {
      return await load(checkpoint)
    } catch (error) {
      const next = newestCheckpoint(directory)
      if (next === undefined || next.name === checkpoint.name) throw error
      checkpoint = next
    }
  }
  return undefined
}

export async function loadCheckpoint(context: Context, checkpoint: CheckpointHere): Promise<Model> {
  return await applyTrained(
    {
      base: await loadBase(context, checkpoint),
      lineage: checkpoint.lineage,
      adapter: checkpoint.adapter,
      weightsFile: join(checkpoint.folder, 'model.safetensors'),
    },
    { disk },
  )
}

/** The model of --model, else the newest checkpoint of this home, else the model of the config. */
export async function loadAsked(context: Context): Promise<{ model: Model; name: string }> {
  const { options, paths } = context
  if (options.model === undefined) {
    const trained = await loadNewest(paths.checkpoints, async (checkpoint) => ({
      model: await loadCheckpoint(context, checkpoint),
      name: `this home's model at step ${checkpoint.step}`,
    }))
    if (trained) return trained
  }
  const { config } = contextConfig(context)
  const { directory, name } = await locateModel(context, config.model.path)
  return { model: await loadModel(directory, { disk }), name }
}

export function noCheckpoint(directory: string): WaggleError {
  return new WaggleError('E_CHECKPOINT', `there is no checkpoint in ${directory}`, {
    hint: 'Train first: `waggle up`, then `waggle checkpoint`.',
  })
}
