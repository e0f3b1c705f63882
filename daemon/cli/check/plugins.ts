// Checks the plugins: each can be loaded and accepts its settings, and together they fit this node. Also checks the
// models of roles and those that teach.

import { dirname } from 'node:path'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Loaded } from '../../config/load.ts'
import { PLUGIN_TABLES, type PluginConfig } from '../../config/schema.ts'
import type { Problem } from '../../config/sources.ts'
import { KINDS_AT, loadPlugins } from '../../host/load.ts'
import { declared, resolvePlugins } from '../../host/resolve.ts'
import { hostOptions } from '../../wiring/plugin-config.ts'
import type { Context } from '../contract.ts'
import { inspectModel } from '../model/inspect.ts'
import { sourceOf } from '../plugins/source.ts'
import { attempt, problemAt } from './problem.ts'

/** Without `tasks`, each plugin is only checked on its own. */
export async function pluginProblems(
  context: Context,
  { config, originOf }: Pick<Loaded, 'config' | 'originOf'>,
  tasks: readonly Task[] | undefined,
): Promise<Problem[]> {
  const source = sourceOf(context)
  const problems: Problem[] = []
  const base = dirname(context.paths.config)
  const check = async (reference: string, path: readonly (string | number)[]): Promise<void> => {
    const look = () => inspectModel(context, { reference, base })
    problems.push(...(await attempt(path, originOf, look)))
  }
  for (const table of PLUGIN_TABLES) {
    const given: PluginConfig | PluginConfig[] = config[table]
    for (const [i, choice] of [given].flat().entries()) {
      const path = Array.isArray(given) ? [table, i] : [table]
      const found = await loadPlugins([{ kinds: KINDS_AT[table], choice }], source)
      const where = originOf([...path, 'use']) ?? ''
      problems.push(...found.problems.map((message) => ({ where, path: path.join('.'), message })))
      for (const { plugin, settings } of found.loaded)
        for (const name of declared(plugin, 'teachers', settings, []) ?? [])
          await check(name, [...path, 'from'])
    }
  }
  for (const [i, { model }] of config.roles.entries())
    if (model !== undefined) await check(model, ['roles', i, 'model'])
  if (problems.length > 0 || tasks === undefined) return problems
  const together = await resolvePlugins(hostOptions(config, tasks), source)
  const roles = together.active.flatMap(({ plugin }) => plugin.manifest?.roles ?? []).map(({ name }) => name)
  return [
    ...together.problems.map((message) => ({ where: '', path: 'plugins', message })),
    ...config.roles.flatMap(({ name }, i) =>
      roles.includes(name) ? [] : [problemAt(['roles', i, 'name'], unknownRole(name, roles), originOf)],
    ),
  ]
}

const unknownRole = (name: string, roles: readonly string[]): string =>
  `no plugin of this config has a role "${name}"; ${roles.length > 0 ? `roles are ${roles.join(', ')}` : 'there are no roles'}`
