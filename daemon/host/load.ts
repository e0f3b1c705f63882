// Finds the plugins that a configuration names and checks their settings. All problems are told at once.

import {
  type Hooks,
  PLUGIN_API,
  PLUGIN_KINDS,
  type Plugin,
  type PluginKind,
} from '../../protocol/plugin/index.ts'

/** As in the config: `use` names the plugin, every other key is a setting of it. */
export interface PluginChoice {
  use: string
  [setting: string]: unknown
}

/** Where the config names plugins of a kind. */
export const PLACES: Record<PluginKind, string> = {
  task: 'tasks',
  estimator: 'estimator',
  correction: 'corrections',
  hint: 'hints',
  replay: 'replay',
  skill: 'skills',
  selector: 'selector',
  control: 'controls',
}

/** What may stand where the config names plugins: the usual kind first. In the order in which hooks run. */
export const KINDS_AT = {
  hints: ['hint'],
  skills: ['skill'],
  replay: ['replay'],
  controls: ['control', 'selector'],
  estimator: ['estimator'],
  corrections: ['correction'],
  selector: ['selector'],
} as const satisfies Record<string, readonly PluginKind[]>

export interface LoadedPlugin {
  plugin: Plugin
  settings: unknown
  hooks: Hooks
  /** Not one that comes along: a file or a package. */
  isOutside: boolean
}

export interface PluginSource {
  builtIn: readonly Plugin[]
  /** Default export of a local file or an npm package. */
  importPlugin(specifier: string): Promise<unknown>
  /** Whether an npm package of this name is installed; only names that look like one are tried if left out. */
  hasPackage?(name: string): boolean
}

/** A place in the config, and what it names. `kinds`: what may stand there, the usual one first. */
export interface PlacedChoice {
  kinds: readonly PluginKind[]
  choice: PluginChoice
}

/** Those that can be had, and what is wrong with the others. */
export async function loadPlugins(
  choices: readonly PlacedChoice[],
  source: PluginSource,
): Promise<{ loaded: LoadedPlugin[]; problems: string[] }> {
  const problems: string[] = []
  const loaded: LoadedPlugin[] = []
  for (const { kinds, choice } of choices) {
    try {
      loaded.push(await loadOne(kinds, choice, source))
    } catch (error) {
      problems.push(`${kinds[0]} "${choice.use}": ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { loaded, problems }
}

async function loadOne(
  kinds: readonly PluginKind[],
  { use, ...given }: PluginChoice,
  source: PluginSource,
): Promise<LoadedPlugin> {
  const plugin = await findPlugin(kinds, use, source)
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
  return {
    plugin,
    settings: checked.value,
    hooks: plugin.create(checked.value),
    isOutside: !source.builtIn.includes(plugin),
  }
}

/** True for what can only be a file or a package. */
export function isOutside(use: string, source: Pick<PluginSource, 'hasPackage'>): boolean {
  return /[./@]/.test(use) || use.startsWith('waggle-plugin-') || source.hasPackage?.(use) === true
}

async function findPlugin(kinds: readonly PluginKind[], use: string, source: PluginSource): Promise<Plugin> {
  const ofKind = source.builtIn.filter(({ kind }) => kinds.includes(kind))
  const builtIn = ofKind.find(({ name }) => name === use)
  if (builtIn) return builtIn
  const names = ofKind.map(({ name }) => name)
  if (!isOutside(use, source)) {
    const elsewhere = source.builtIn.find(({ name }) => name === use)
    throw new Error(
      elsewhere
        ? `it is a ${elsewhere.kind} plugin, and belongs under "${PLACES[elsewhere.kind]}" in the config`
        : `there is no such plugin; built in are ${names.join(', ') || 'none'}`,
    )
  }
  const plugin = asPlugin(await source.importPlugin(use))
  if (!kinds.includes(plugin.kind)) throw new Error(`it is a ${plugin.kind} plugin`)
  return plugin
}

/** Throws for what is no plugin of this version. */
export function asPlugin(value: unknown): Plugin {
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
  if (!(PLUGIN_KINDS as readonly unknown[]).includes(plugin.kind) || plugin.kind === 'task')
    throw new Error(`a ${plugin.kind} is no kind of plugin`)
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(plugin.name))
    throw new Error('its name must be 1 to 64 of a-z, 0-9, _ and -')
  if (!plugin.settings?.['~standard']) throw new Error('its settings are no Standard Schema')
  return plugin as Plugin
}
