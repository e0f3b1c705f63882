// Loads the config for a command from the file, the environment and the command line. Imports zod, which loads slowly,
// so only commands that need the config import this file.

import { WaggleError } from '../../protocol/errors.ts'
import { LEARNING_RATES } from '../config/learning-rates.ts'
import { type Loaded, type LoadOptions, loadConfig } from '../config/load.ts'
import { screen } from '../config/sections/access.ts'
import { MODEL_ORIGIN } from '../config/sources.ts'
import { reservedVariables } from './context.ts'
import type { Context } from './contract.ts'
import { variableName } from './global-options.ts'
import { referenceOf } from './model/continued.ts'
import { newestCheckpoint, newestOf } from './model/manifests.ts'

/** `settings` override everything else. */
export function contextConfig(context: Context, settings: Record<string, string> = {}): Loaded {
  const loaded = loadConfig(loadOptions(context, settings))
  for (const warning of loaded.warnings) context.say(`warning: ${warning}`)
  const { config, originOf } = loaded
  const newest = newestOf(context.paths.checkpoints, config.model.path)
  const isOurs = (key: string): boolean => [undefined, MODEL_ORIGIN].includes(originOf(['training', key]))
  // Checkpoints are gone on with as they were trained: all parameters at the rate for these, or this adapter.
  const { training } = config
  if (newest && !newest.adapter && isOurs('learning_rate')) training.learning_rate = LEARNING_RATES.full
  if (newest?.adapter && isOurs('lora_rank')) training.lora_rank = newest.adapter.rank
  if (newest?.adapter && isOurs('lora_alpha')) training.lora_alpha = newest.adapter.alpha
  return loaded
}

/** How the screen looks. A config with mistakes keeps nobody from watching a node that runs. */
export function screenSettings(context: Context): Loaded['config']['screen'] {
  try {
    return loadConfig(loadOptions(context)).config.screen
  } catch {
    return screen.parse({})
  }
}

export function loadOptions(
  { io, commands, options, paths, fromEnv }: Context,
  settings: Record<string, string> = {},
): LoadOptions {
  const newest = newestCheckpoint(paths.checkpoints)
  return {
    file: paths.config,
    required: options.config !== undefined,
    env: io.env,
    flags: [
      ...configFlags({ commands, options, fromEnv }),
      ...Object.entries(settings).map(([path, text]): [string, string, string] => [
        `set ${path}`,
        path,
        text,
      ]),
    ],
    reserved: reservedVariables(commands),
    cwd: io.cwd,
    homedir: io.homedir,
    homeModel: newest && referenceOf(newest),
  }
}

function configFlags({
  commands,
  options,
  fromEnv,
}: Pick<Context, 'commands' | 'options' | 'fromEnv'>): Array<[string, string, string]> {
  const flags: Array<[string, string, string]> = []
  const byName = new Map(
    commands.flatMap(({ options = [] }) => options).map((option) => [option.name, option]),
  )
  for (const option of byName.values()) {
    const { name, key, sets } = option
    const value = options[name]
    if (key === undefined || value === undefined || value === false) continue
    flags.push([fromEnv.has(name) ? variableName(option) : `--${name}`, key, sets ?? (value as string)])
  }
  // Last, so that --set takes precedence over the options.
  for (const pair of (options.set as string[] | undefined) ?? []) {
    const at = pair.indexOf('=')
    if (at < 1) {
      throw new WaggleError('E_USAGE', `--set needs KEY=VALUE, not "${pair}"`, {
        hint: 'For example --set training.learning_rate=3e-4. `waggle help config` lists the keys.',
      })
    }
    const path = pair.slice(0, at).trim()
    flags.push([`--set ${path}`, path, pair.slice(at + 1)])
  }
  return flags
}
