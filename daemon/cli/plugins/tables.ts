// Problems of the built-in plugins that a config names: unknown names and invalid settings. Files and packages are not
// checked, since loading one runs it.

import type { PluginTable } from '../../config/load.ts'
import type { Problem } from '../../config/sources.ts'
import { isOutside, KINDS_AT, loadPlugins } from '../../host/load.ts'
import type { Context } from '../contract.ts'
import { sourceOf } from './source.ts'

export async function problemsOfTables(context: Context, tables: readonly PluginTable[]): Promise<Problem[]> {
  const source = sourceOf(context)
  const found: Problem[] = []
  for (const { name, path, where, choice } of tables) {
    const isBuiltIn = source.builtIn.some((plugin) => plugin.name === choice.use)
    if (!isBuiltIn && isOutside(choice.use, source)) continue
    const { problems } = await loadPlugins([{ kinds: KINDS_AT[name], choice }], source)
    found.push(...problems.map((message) => ({ where, path, message })))
  }
  return found
}
