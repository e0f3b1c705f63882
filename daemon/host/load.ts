// Finds the plugins that a configuration names and checks their settings. All problems are told at once.

import { WaggleError } from '../../protocol/errors.ts'
import { type Hooks, PLUGIN_API, type Plugin, type PluginKind } from '../../protocol/plugin/index.ts'

/** As in the config: `use` names the plugin, every other key is a setting of it. */
export interface PluginChoice {
  use: string
  [setting: string]: unknown
}

export interface LoadedPlugin {
  plugin: Plugin
  settings: unknown
  hooks: Hooks
}

export interface PluginSource {
  builtIn: readonly Plugin[]
  /** Default export of a local file or an npm package. */
  importPlugin(specifier: string): Promise<unknown>
}

export async function loadPlugins(
  choices: readonly { kind: PluginKind; choice: PluginChoice }[],
  source: PluginSource,
): Promise<LoadedPlugin[]> {
  const problems: string[] = []
  const loaded: LoadedPlugin[] = []
  for (const { kind, choice } of choices) {
    try {
      loaded.push(await loadOne(kind, choice, source))
    } catch (error) {
      problems.push(`${kind} "${choice.use}": ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (problems.length > 0) {
    throw new WaggleError('E_PLUGIN', problems.join('\n'), {
      hint: 'Correct the plugin tables in the config file; `waggle config show` prints them.',
    })
  }
  return loaded
}

async function loadOne(
  kind: PluginKind,
  { use, ...given }: PluginChoice,
  source: PluginSource,
): Promise<LoadedPlugin> {
  const plugin = await findPlugin(kind, use, source)
  const checked = (await plugin.settings['~standard'].validate(given)) as {
    value?: unknown
    issues?: readonly { message: string; path?: readonly unknown[] }[]
  }
  if (checked.issues) {
    throw new Error(
      checked.issues
        .map(({ message, path }) => `${path?.length ? `${path.join('.')}: ` : ''}${message}`)
        .join('; '),
    )
  }
  return { plugin, settings: checked.value, hooks: plugin.create(checked.value) }
}

async function findPlugin(kind: PluginKind, use: string, source: PluginSource): Promise<Plugin> {
  const builtIn = source.builtIn.find((plugin) => plugin.kind === kind && plugin.name === use)
  if (builtIn) return builtIn
  const names = source.builtIn.filter((plugin) => plugin.kind === kind).map(({ name }) => name)
  const looksLikeModule = /[./@]/.test(use) || use.startsWith('waggle-plugin-')
  if (!looksLikeModule) throw new Error(`there is no such plugin; built in are ${names.join(', ') || 'none'}`)
  const plugin = asPlugin(await source.importPlugin(use))
  if (plugin.kind !== kind) throw new Error(`it is a ${plugin.kind} plugin`)
  return plugin
}

function asPlugin(value: unknown): Plugin {
  const plugin = value as Partial<Plugin> | null | undefined
  if (
    !plugin ||
    typeof plugin !== 'object' ||
    typeof plugin.create !== 'function' ||
    typeof plugin.name !== 'string'
  ) {
    throw new Error('the module has no plugin as its default export; make one with definePlugin()')
  }
  if (plugin.api !== PLUGIN_API)
    throw new Error(`it is made for plugin API ${plugin.api}, this is ${PLUGIN_API}`)
  if (!plugin.settings?.['~standard']) throw new Error('its settings are no Standard Schema')
  return plugin as Plugin
}
