// The config for a command: file, environment and the flags that stand for keys. Loads zod, so only commands that need
// the config import this.

import { WaggleError } from '../../protocol/errors.ts'
import { type Loaded, type LoadOptions, loadConfig, pluginTables } from '../config/load.ts'
import { invalidConfig } from '../config/problems.ts'
import type { Problem } from '../config/sources.ts'
import { type Context, reservedVariables } from './context.ts'
import { COMMANDS } from './table.ts'

/** `settings` lie over everything else. */
export function contextConfig(context: Context, settings: Record<string, string> = {}): Loaded {
  const loaded = loadConfig(loadOptions(context, settings))
  for (const warning of loaded.warnings) context.say(`warning: ${warning}`)
  return loaded
}

/**
 * For who is about to start a node. Where a key is wrong, the plugins that are named are looked at as well, so that one
 * message has all that is to be corrected.
 */
export async function startConfig(context: Context): Promise<Loaded> {
  try {
    return contextConfig(context)
  } catch (error) {
    if (!(error instanceof WaggleError) || error.data?.problems === undefined) throw error
    throw invalidConfig(context.paths.config, [
      ...(error.data.problems as Problem[]),
      ...(await pluginProblems(context)),
    ])
  }
}

/** For who wants to know what is wrong: plugins are looked at in any case. */
export async function checkedConfig(context: Context): Promise<Loaded> {
  const loaded = await startConfig(context)
  const problems = await pluginProblems(context)
  if (problems.length > 0) throw invalidConfig(context.paths.config, problems)
  return loaded
}

async function pluginProblems(context: Context): Promise<Problem[]> {
  const { problemsOfTables } = await import('./plugins/tables.ts')
  return problemsOfTables(context, pluginTables(loadOptions(context)))
}

function loadOptions({ io, options, paths }: Context, settings: Record<string, string> = {}): LoadOptions {
  return {
    file: paths.config,
    required: options.config !== undefined,
    env: io.env,
    flags: [
      ...configFlags(options),
      ...Object.entries(settings).map(([path, text]): [string, string, string] => [
        `set ${path}`,
        path,
        text,
      ]),
    ],
    reserved: reservedVariables(),
    cwd: io.cwd,
    homedir: io.homedir,
  }
}

function configFlags(options: Context['options']): Array<[string, string, string]> {
  const flags: Array<[string, string, string]> = []
  const standing = new Map(
    COMMANDS.flatMap(({ options = [] }) => options).map((option) => [option.name, option]),
  )
  for (const { name, key, sets } of standing.values()) {
    const value = options[name]
    if (key === undefined || value === undefined || value === false) continue
    flags.push([`--${name}`, key, sets ?? (value as string)])
  }
  // Last, so that the most explicit way wins.
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
