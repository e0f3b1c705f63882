// Loads the config for commands that start a node or check whether one could start.

import { WaggleError } from '../../protocol/errors.ts'
import { type Loaded, pluginTables, salvageConfig } from '../config/load.ts'
import { invalidConfig } from '../config/problems.ts'
import type { Problem } from '../config/sources.ts'
import type { Context } from './contract.ts'
import { contextConfig, loadOptions } from './load-config.ts'

/** The config for starting a node. If a key is invalid, the error also lists the problems of built-in plugins. */
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

/**
 * Checks whether a node could start with this config: the keys, and everything they name. Rejects with E_CONFIG and all
 * problems.
 */
export async function checkedConfig(
  context: Context,
  settings: Record<string, string> = {},
): Promise<Loaded> {
  const { startProblems } = await import('./check/index.ts')
  let loaded: Loaded
  try {
    loaded = contextConfig(context, settings)
  } catch (error) {
    if (!(error instanceof WaggleError) || error.data?.problems === undefined) throw error
    const rest = salvageConfig(loadOptions(context, settings))
    const others = rest ? await startProblems(context, rest) : []
    throw invalidConfig(context.paths.config, [
      ...(error.data.problems as Problem[]),
      ...(await pluginProblems(context, rest?.broken)),
      ...others.filter(({ path }) => !rest?.broken.has(path.split('.')[0]!)),
    ])
  }
  const problems = await startProblems(context, loaded)
  if (problems.length > 0) throw invalidConfig(context.paths.config, problems)
  return loaded
}

/** Problems of built-in plugins; if `sections` is given, only those of these sections. */
async function pluginProblems(context: Context, sections?: ReadonlySet<string>): Promise<Problem[]> {
  const { problemsOfTables } = await import('./plugins/tables.ts')
  const tables = pluginTables(loadOptions(context))
  return problemsOfTables(context, sections ? tables.filter(({ name }) => sections.has(name)) : tables)
}
