// The model of a home's newest checkpoint, for commands.

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import type { BasePrecision } from '../../policy/files/base-weights.ts'
import { type BeforeWeights, loadDecoderAs, loadModelAs, type StoredModel } from '../../policy/model.ts'
import { bundledModel } from '../../policy/sources/find.ts'
import { applyTrained } from '../../policy/trained.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { sizeOf, WEIGHT_FILES, watchedDisk } from '../../store/watched-disk.ts'
import { quoted } from '../context.ts'
import type { Context } from '../contract.ts'
import { contextConfig } from '../load-config.ts'
import { withProgress } from '../text/progress.ts'
import { locateModel } from './locate.ts'
import { type CheckpointHere, checkpointsHere, newestCheckpoint, newestOf } from './manifests.ts'

/** Throws if the model will not do; called before its weights are read, which may take long. */
export type Check = (known: Pick<BeforeWeights, 'spec' | 'tokenizer'>) => void

async function loadChecked(
  context: Context,
  directory: string,
  precision: BasePrecision,
  check: Check | undefined,
): Promise<StoredModel> {
  const total = await sizeOf(directory, WEIGHT_FILES, { disk })
  return await withProgress(context, 'load', { unit: 'bytes', total }, (at) =>
    loadModelAs(directory, { disk: watchedDisk(disk, at) }, (known) => {
      check?.(known)
      return precision
    }),
  )
}

/** The model that a checkpoint started from: where the checkpoint says, or else where the config says. */
async function loadBase(
  context: Context,
  checkpoint: CheckpointHere,
  precision: BasePrecision,
  check?: Check,
): Promise<StoredModel> {
  const { config } = contextConfig(context)
  const directory = baseHere(context, checkpoint) ?? (await locateModel(context, config.model.path)).directory
  return await loadChecked(context, directory, precision, check)
}

/** Where the model is that a checkpoint started from; undefined if it is not there any more. */
export function baseHere(
  { io }: Pick<Context, 'io'>,
  { base }: Pick<CheckpointHere, 'base'>,
): string | undefined {
  const place = base?.name === 'default' ? bundledModel(io.packageRoot) : base?.directory
  return place !== undefined && isModelThere(place) ? place : undefined
}

/** A GGUF file, or a folder with a config.json. */
function isModelThere(path: string): boolean {
  const facts = statSync(path, { throwIfNoEntry: false })
  return facts?.isFile() || existsSync(join(path, 'config.json'))
}

/** Gives the newest checkpoint: of the model of --model if that is given, otherwise of the home. */
export async function newestAsked(context: Context): Promise<() => CheckpointHere | undefined> {
  const { checkpoints } = context.paths
  if (context.options.model === undefined) return () => newestCheckpoint(checkpoints)
  const { directory } = await locateModel(context, contextConfig(context).config.model.path)
  const here = newestOf(checkpoints, directory)
  // It may have moved since.
  const lineage = here?.lineage ?? (await loadDecoderAs(directory, { disk }, 'file')).digest
  return () => checkpointsHere(checkpoints).find((one) => one.lineage === lineage)
}

/**
 * The result of `load` for the newest checkpoint; undefined if there is none. If a training node removes the checkpoint
 * while it is read, the one that took its place is read instead.
 */
export async function loadNewest<Loaded>(
  newest: () => CheckpointHere | undefined,
  load: (checkpoint: CheckpointHere) => Promise<Loaded>,
): Promise<Loaded | undefined> {
  let checkpoint = newest()
  while (checkpoint) {
    try {
      return await load(checkpoint)
    } catch (error) {
      const next = newest()
      if (next === undefined || next.name === checkpoint.name) throw error
      checkpoint = next
    }
  }
  return undefined
}

/** `precision`: how matrices under an adapter are kept. Where all weights were trained they are F32. */
export async function loadCheckpoint(
  context: Context,
  checkpoint: CheckpointHere,
  precision: BasePrecision,
  check?: Check,
): Promise<StoredModel> {
  return await applyTrained(
    {
      base: await loadBase(context, checkpoint, precision, check),
      lineage: checkpoint.lineage,
      adapter: checkpoint.adapter,
      folder: checkpoint.folder,
    },
    { disk },
  )
}

/**
 * The model of --model, else the newest checkpoint of this home, else the model of the config; to sample from, with
 * frozen matrices in `engine.base_precision`, where `auto` means as in the file.
 */
export async function loadAsked(
  context: Context,
  check?: Check,
): Promise<{ model: StoredModel; name: string }> {
  const { base_precision: asked } = contextConfig(context).config.engine
  return await loadAskedAs(context, asked === 'auto' ? 'file' : asked, check)
}

/** The same with frozen matrices in this precision. */
export async function loadAskedAs(
  context: Context,
  precision: BasePrecision,
  check?: Check,
): Promise<{ model: StoredModel; name: string }> {
  const { options, paths } = context
  if (options.model === undefined) {
    const newest = () => newestCheckpoint(paths.checkpoints)
    const trained = await loadNewest(newest, async (checkpoint) => ({
      model: await loadCheckpoint(context, checkpoint, precision, check),
      name: `this home's model at step ${checkpoint.step}`,
    }))
    if (trained) return trained
  }
  const { config } = contextConfig(context)
  const { directory, name } = await locateModel(context, config.model.path)
  return { model: await loadChecked(context, directory, precision, check), name }
}

export function noCheckpoint({ paths, options: { model } }: Context): WaggleError {
  const [of, named] = model === undefined ? ['', ''] : [` of ${model}`, ` --model ${quoted(String(model))}`]
  return new WaggleError('E_CHECKPOINT', `there is no checkpoint${of} in ${paths.checkpoints}`, {
    hint: `Train first: \`waggle up${named}\`, then \`waggle checkpoint\`.`,
  })
}
