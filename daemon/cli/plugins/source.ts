// Where plugins come from, for commands: those that come along, and those that the config names.

import { dirname, resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Plugin } from '../../../protocol/plugin/index.ts'
import { didYouMean } from '../../../protocol/suggest.ts'
import { loadTasks, PLUGINS } from '../../built-in.ts'
import type { Config } from '../../config/schema.ts'
import { asPlugin, type PluginSource } from '../../host/load.ts'
import { createPluginFiles } from '../../host/plugin-files.ts'
import { type Resolved, resolvePlugins } from '../../host/resolve.ts'
import { hostOptions } from '../../plugin-config.ts'
import type { Context } from '../context.ts'
import { startConfig } from '../load-config.ts'

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
  const { config, file } = await startConfig(context)
  const tasks = await loadTasks(config.tasks)
  return { ...(await resolvePlugins(hostOptions(config, tasks), sourceOf(context))), config, file }
}

/** By `kind/name`, as a file, or as a package of this home. Throws E_USAGE where there is none. */
export async function findPlugin(context: Context, wanted: string): Promise<Plugin> {
  const source = sourceOf(context)
  const builtIn = source.builtIn.find(({ kind, name }) => `${kind}/${name}` === wanted)
  if (builtIn) return builtIn
  if (/^\.|^\/|\.[cm]?[jt]s$/.test(wanted) || source.hasPackage?.(wanted)) {
    const path = source.hasPackage?.(wanted) ? wanted : resolve(context.io.cwd, wanted)
    return source.importPlugin(path).then(asPlugin).catch(unusable(wanted))
  }
  const ids = source.builtIn.map(({ kind, name }) => `${kind}/${name}`)
  throw new WaggleError('E_USAGE', `there is no plugin "${wanted}".${didYouMean(wanted, ids)}`, {
    hint: '`waggle plugins list` shows all; a file begins with ./ or ends with .ts or .js.',
  })
}

function unusable(wanted: string) {
  return (cause: unknown): never => {
    throw new WaggleError('E_PLUGIN', `${wanted}: ${cause instanceof Error ? cause.message : cause}`, {
      hint: 'docs/plugins.md shows what a plugin looks like.',
      cause,
    })
  }
}
