// The model that a home continues with: that of its newest checkpoint, unless the config or the command line names one.

import { existsSync } from 'node:fs'
import { basename, isAbsolute } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Loaded } from '../../config/load.ts'
import { HOME_ORIGIN } from '../../config/sources.ts'
import { hubNameOf } from '../../policy/sources/reference.ts'
import { quoted } from '../context.ts'
import type { Context } from '../contract.ts'
import { type CheckpointHere, newestCheckpoint } from './manifests.ts'

/** As in the config. */
export function referenceOf({ base }: Pick<CheckpointHere, 'base'>): string | undefined {
  if (base === undefined || base.name === 'default') return base?.name
  const hub = hubNameOf(base.name)
  return hub !== undefined && base.commit !== undefined ? `${hub}@${base.commit}` : base.directory
}

/** For display: the included model, a name on the hub, or the name of a folder or file. */
export function shortName(reference: string): string {
  if (reference === 'default') return 'the included model'
  return isAbsolute(reference) ? basename(reference) : reference
}

/** Whether the config takes its model from the home's newest checkpoint. */
const isContinued = ({ originOf }: Pick<Loaded, 'originOf'>): boolean =>
  originOf(['model', 'path']) === HOME_ORIGIN

/** Throws E_CHECKPOINT if this home continues with a folder or file that is gone. */
export function requireContinued(
  { commandLine }: Pick<Context, 'commandLine'>,
  loaded: Pick<Loaded, 'config' | 'originOf'>,
): void {
  const { path } = loaded.config.model
  if (!isContinued(loaded) || !isAbsolute(path) || existsSync(path)) return
  throw new WaggleError('E_CHECKPOINT', `this home continues the model ${path}, which is not there`, {
    hint: `If it has moved: \`${commandLine('up --model PATH')}\`. To train the included model instead: \`${commandLine('up --model default')}\`.`,
  })
}

/**
 * Says which model a start continues, if that is not the included one, or that a second model begins beside another.
 * Returns the lineage that the model must have.
 */
export function sayContinued(
  context: Context,
  loaded: Pick<Loaded, 'config' | 'originOf'>,
): string | undefined {
  requireContinued(context, loaded)
  const { say, commandLine, paths } = context
  const newest = newestCheckpoint(paths.checkpoints)
  const before = newest && referenceOf(newest)
  if (newest === undefined || before === undefined) return undefined
  const { path } = loaded.config.model
  if (isContinued(loaded)) {
    if (path !== 'default')
      say(
        `  this home goes on with ${shortName(path)}; for the included model: ${commandLine('up --model default')}`,
      )
    return newest.lineage
  }
  if (path !== before && newest.base?.name !== path && newest.base?.directory !== path)
    say(
      `  this home trained ${shortName(before)} before; its checkpoints stay, and this goes on with them: ${commandLine(`up --model ${quoted(before)}`)}`,
    )
  return undefined
}
