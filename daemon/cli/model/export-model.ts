// waggle export model and waggle export adapter: the newest checkpoint for other tools, with a card that says what it is.

import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { modelCard } from '../../policy/model-card.ts'
import { hubReference } from '../../policy/sources/reference.ts'
import { EXPORT_DTYPES, type ExportDtype, writeAdapter, writeMerged } from '../../policy/write-model.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { Context } from '../context.ts'
import { contextConfig } from '../load-config.ts'
import { loadCheckpoint, newestCheckpoint, noCheckpoint } from './checkpoint.ts'
import { recordsOf } from './run-records.ts'

export async function exportModel(context: Context): Promise<number> {
  const { paths, io, json, options } = context
  const bare = context.arguments[0] === 'adapter'
  const target = targetOf(context)
  const dtype = (options.dtype ?? 'f32') as ExportDtype
  if (!Object.hasOwn(EXPORT_DTYPES, dtype)) {
    throw new WaggleError(
      'E_USAGE',
      `--dtype must be ${Object.keys(EXPORT_DTYPES).join(', ')}, not "${dtype}"`,
    )
  }
  const checkpoint = newestCheckpoint(paths.checkpoints)
  if (!checkpoint) throw noCheckpoint(paths.checkpoints)
  const { config } = contextConfig(context)
  const model = await loadCheckpoint(context, checkpoint)
  const base = checkpoint.base ?? { name: config.model.path, directory: model.directory }
  const hub = hubNameOf(base.name)
  const card = modelCard({
    base: { name: hub ?? base.name, commit: base.commit, onHub: hub !== undefined },
    adapter: model.spec.adapter,
    bare,
    dtype,
    step: checkpoint.step,
    lineage: checkpoint.lineage,
    tokenizer: model.tokenizer.digest,
    tasks: config.tasks,
    estimator: config.estimator.use,
    corrections: config.corrections.map(({ use }) => use),
    learningRate: config.training.learning_rate,
    ...recordsOf(paths, checkpoint),
  })
  try {
    mkdirSync(target, { recursive: true })
    const how = { target, dtype, card }
    if (bare)
      await writeAdapter(
        model,
        { ...how, base: { name: hub ?? model.directory, revision: base.commit } },
        { disk },
      )
    else await writeMerged(model, how, { disk })
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    throw new WaggleError('E_HOME', `cannot write ${target}: ${(cause as Error).message}`, {
      hint: 'Check its permissions and the room on the disk.',
      cause,
    })
  }
  const { step, lineage } = checkpoint
  context.out(json ? JSON.stringify({ v: 1, path: target, step, lineage, dtype }) : target)
  context.say(
    bare
      ? `step ${step}; it belongs on ${hub ?? model.directory}`
      : `step ${step}; try it with \`${io.program} chat --model ${target}\``,
  )
  return 0
}

function targetOf({ arguments: [what, given], io, options }: Context): string {
  if (given === undefined) {
    throw new WaggleError('E_USAGE', `export ${what} needs a folder to write to`, {
      hint: `For example \`waggle export ${what} ./trained\`.`,
    })
  }
  const target = resolve(io.cwd, given)
  if (existsSync(target) && readdirSync(target).length > 0 && options.force !== true) {
    throw new WaggleError('E_USAGE', `${target} is not empty`, {
      hint: 'Choose another folder, or overwrite with --force.',
    })
  }
  return target
}

/** A base is recorded as it was asked for. */
function hubNameOf(name: string): string | undefined {
  try {
    return name.startsWith('/') ? undefined : hubReference(name)?.name
  } catch {
    return undefined
  }
}
