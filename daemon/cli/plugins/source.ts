// Where plugins come from, for commands: those that come along, and those that the config names.

import { dirname } from 'node:path'
import { loadTasks, PLUGINS } from '../../built-in.ts'
import type { Config } from '../../config/schema.ts'
import type { PluginSource } from '../../host/load.ts'
import { createPluginFiles } from '../../host/plugin-files.ts'
import { type Resolved, resolvePlugins } from '../../host/resolve.ts'
import { hostOptions } from '../../plugin-config.ts'
import type { Context } from '../context.ts'
import { contextConfig } from '../load-config.ts'

export function sourceOf({ paths }: Context): PluginSource {
  return {
    builtIn: PLUGINS,
    ...createPluginFiles({ base: dirname(paths.config), plugins: paths.plugins }),
  }
}

export interface Configured extends Resolved {
  config: Config
  file: string | undefined
}

/** What the config asks for, as a node would take it. */
export async function configured(context: Context): Promise<Configured> {
  const { config, file } = contextConfig(context)
  const tasks = await loadTasks(config.tasks)
  return { ...(await resolvePlugins(hostOptions(config, tasks), sourceOf(context))), config, file }
}
