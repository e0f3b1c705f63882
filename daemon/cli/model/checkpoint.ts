// The newest checkpoint of a home, and the model that it is, for commands.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
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
  step: number
  lineage: string
  /** ms since the epoch. */
  savedAt: number
}

export function newestCheckpoint(directory: string): CheckpointHere | undefined {
  const names = existsSync(directory) ? readdirSync(directory).sort().reverse() : []
  for (const name of names) {
    const folder = join(directory, name)
    try {
      // The manifest is written last, so a checkpoint without one is not whole.
      const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
      const { step, lineage, savedAt, meta } = manifest as CheckpointHere & { meta: unknown }
      return { folder, step, lineage, savedAt, ...trainedMeta(meta) }
    } catch {
      // An older one may do.
    }
  }
  return undefined
}

/** The model that a checkpoint's run started from: as it says, unless that is gone; else as the config says. */
export async function loadBase(context: Context, checkpoint: CheckpointHere): Promise<Model> {
  const { base } = checkpoint
  if (base && existsSync(join(base.directory, 'config.json')))
    return await loadModel(base.directory, { disk })
  const { config } = contextConfig(context)
  return await loadModel((await locateModel(context, config.model.path)).directory, { disk })
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

/** With --model that one; else what this home has learned, if it has; else the model that the config names. */
export async function loadAsked(context: Context): Promise<{ model: Model; name: string }> {
  const { options, paths } = context
  const checkpoint = options.model === undefined ? newestCheckpoint(paths.checkpoints) : undefined
  if (checkpoint) {
    return {
      model: await loadCheckpoint(context, checkpoint),
      name: `this home's model at step ${checkpoint.step}`,
    }
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
