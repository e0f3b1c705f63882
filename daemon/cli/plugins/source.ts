// Finds plugins for commands: built-in ones, files, and packages of this home.

import { dirname, resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Plugin, Task } from '../../../protocol/plugin/index.ts'
import { didYouMean } from '../../../protocol/suggest.ts'
import type { Config } from '../../config/schema.ts'
import { asPlugin, type PluginSource } from '../../host/load.ts'
import { type Resolved, resolvePlugins } from '../../host/resolve.ts'
import { GONE, PLUGINS } from '../../wiring/built-in.ts'
import { guardedFiles } from '../../wiring/guarded.ts'
import { hostOptions } from '../../wiring/plugin-config.ts'
import type { Context } from '../contract.ts'

export function sourceOf({ paths }: Context): PluginSource {
  return {
    builtIn: PLUGINS,
    gone: GONE,
    ...guardedFiles({ base: dirname(paths.config), plugins: paths.plugins }),
  }
}

/** The plugins of a config, resolved as a node resolves them. */
export function resolvedFor(
  context: Context,
  { config, tasks }: { config: Config; tasks: readonly Task[] },
): Promise<Resolved> {
  return resolvePlugins(hostOptions(config, tasks), sourceOf(context))
}

/** Finds a plugin by `kind/name`, file or package of this home. Rejects with E_USAGE if there is none. */
export async function findPlugin(context: Context, wanted: string): Promise<Plugin> {
  const source = sourceOf(context)
  const builtIn = source.builtIn.find(({ kind, name }) => `${kind}/${name}` === wanted)
  if (builtIn) return builtIn
  if (/^\.|^\/|\.[cm]?[jt]s$/.test(wanted) || source.hasPackage?.(wanted)) {
    const path = source.hasPackage?.(wanted) ? wanted : resolve(context.io.cwd, wanted)
    return source.importPlugin(path).then(asPlugin).catch(unusable(wanted))
  }
  const ids = source.builtIn.map(({ kind, name }) => `${kind}/${name}`)
  const named = ids.filter((id) => id.endsWith(`/${wanted}`))
  if (named.length === 1)
    throw new WaggleError('E_USAGE', `"${wanted}" is no plugin's id: that is "${named[0]}"`, {
      hint: 'An id is the kind and the name; `waggle plugins list` shows both.',
    })
  throw new WaggleError('E_USAGE', `there is no plugin "${wanted}".${didYouMean(wanted, ids)}`, {
    hint: '`waggle plugins list` shows all plugins. A file must start with ./ or end with .ts or .js.',
  })
}

function unusable(wanted: string) {
  return (cause: unknown): never => {
    throw new WaggleError('E_PLUGIN', `${wanted}: ${cause instanceof Error ? cause.message : cause}`, {
      hint: 'docs/plugins.md has an example of a plugin.',
      cause,
    })
  }
}
