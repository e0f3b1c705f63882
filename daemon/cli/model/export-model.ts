// waggle export model and waggle export adapter: the newest checkpoint in Hugging Face's or PEFT's format, with a model
// card.

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
  if (options.save === true) await context.client.send('checkpoint', {})
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
      hint: 'Check its permissions and the free space on the disk.',
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
  // Whether a node runs here at all does not matter to whoever exports.
  const training = (await context.client.snapshot().catch(() => undefined))?.training
  if (training && training.step > step)
    context.say(
      `The node is at step ${training.step} by now. For its newest weights: \`${context.commandLine(`export ${context.arguments.join(' ')} --save --force`)}\``,
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

/** The name on the hub, if the recorded base is one. */
function hubNameOf(name: string): string | undefined {
  try {
    return name.startsWith('/') ? undefined : hubReference(name)?.name
  } catch {
    return undefined
  }
}
