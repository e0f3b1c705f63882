// Finds the plugins that a configuration names and checks their settings. Reports all problems at once.

import { createdBy } from '../../protocol/plugin/created.ts'
import {
  type Hooks,
  type Manifest,
  PLUGIN_API,
  PLUGIN_KINDS,
  type Plugin,
  type PluginKind,
} from '../../protocol/plugin/index.ts'

/** A plugin table of the config: `use` names the plugin, all other keys are its settings. */
export interface PluginChoice {
  use: string
  [setting: string]: unknown
}

/** Config key for plugins of each kind. */
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

/**
 * Kinds allowed under each config key, the usual kind first. The keys are in the order in which hooks run.
 */
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
  /** True for a file or a package, false for a built-in plugin. */
  isOutside: boolean
}

export interface PluginSource {
  builtIn: readonly Plugin[]
  /** Built-in plugins of the last version that are gone: `kind/name` and why. */
  gone?: Readonly<Record<string, Gone>>
  /** Imports the default export of a local file or an npm package. */
  importPlugin(specifier: string): Promise<unknown>
  /**
   * Whether an npm package of this name is installed. By default, only names that look like a package are
   * tried.
   */
  hasPackage?(name: string): boolean
}

export interface Gone {
  /** Completes "it is gone: ". */
  because: string
  /** Leaving it out changes nothing, so a config that names it still works, with a notice. */
  harmless?: boolean
}

/** A choice and the kinds allowed at its place in the config, the usual one first. */
export interface AllowedChoice {
  kinds: readonly PluginKind[]
  choice: PluginChoice
}

/** Returns the plugins that loaded, the problems with the others, and what the user should change in time. */
export async function loadPlugins(
  choices: readonly AllowedChoice[],
  source: PluginSource,
): Promise<{ loaded: LoadedPlugin[]; problems: string[]; notices: string[] }> {
  const problems: string[] = []
  const notices: string[] = []
  const loaded: LoadedPlugin[] = []
  for (const { kinds, choice } of choices) {
    const gone = goneOf(kinds, choice.use, source)
    if (gone?.harmless) {
      notices.push(`${kinds[0]} "${choice.use}": it is gone: ${gone.because}. Remove it from the config.`)
      continue
    }
    try {
      const one = await loadOne(kinds, choice, source)
      if (!one.isOutside && one.plugin.name !== choice.use)
        notices.push(
          `${kinds[0]} "${choice.use}" is now called "${one.plugin.name}": rename it in the config.`,
        )
      loaded.push(one)
    } catch (error) {
      problems.push(`${kinds[0]} "${choice.use}": ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { loaded, problems, notices }
}

function goneOf(kinds: readonly PluginKind[], use: string, { gone = {} }: PluginSource): Gone | undefined {
  return kinds.map((kind) => gone[`${kind}/${use}`]).find((found) => found !== undefined)
}

async function loadOne(
  kinds: readonly PluginKind[],
  { use, ...given }: PluginChoice,
  source: PluginSource,
): Promise<LoadedPlugin> {
  if (typeof use !== 'string') throw new Error('it has no name: say which plugin to use, as use: "NAME"')
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
    hooks: createdBy(plugin, checked.value),
    isOutside: !source.builtIn.includes(plugin),
  }
}

/** True for names that can only be a file or a package. */
export function isOutside(use: string, source: Pick<PluginSource, 'hasPackage'>): boolean {
  return /[./@]/.test(use) || use.startsWith('waggle-plugin-') || source.hasPackage?.(use) === true
}

async function findPlugin(kinds: readonly PluginKind[], use: string, source: PluginSource): Promise<Plugin> {
  const ofKind = source.builtIn.filter(({ kind }) => kinds.includes(kind))
  const builtIn = ofKind.find(({ name, manifest }) => name === use || manifest?.formerly === use)
  if (builtIn) return builtIn
  const names = ofKind.map(({ name }) => name)
  if (!isOutside(use, source)) {
    const gone = goneOf(kinds, use, source)
    if (gone) throw new Error(`it is gone: ${gone.because}`)
    const elsewhere = source.builtIn.find(({ name }) => name === use)
    throw new Error(
      elsewhere
        ? `it is ${named(elsewhere.kind)} and belongs under "${PLACES[elsewhere.kind]}" in the config`
        : `there is no such plugin; the built-in ones are ${names.join(', ') || 'none'}`,
    )
  }
  const plugin = asPlugin(await source.importPlugin(use))
  if (!kinds.includes(plugin.kind)) throw new Error(`it is ${named(plugin.kind)}`)
  return plugin
}

function named(kind: PluginKind): string {
  return `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind} plugin`
}

const MANIFEST_KEYS = [
  'formerly',
  'order',
  'needs',
  'claims',
  'conflicts',
  'requires',
  'budget',
  'roles',
  'teachers',
  'testTime',
  'signal',
  'update',
  'stateVersion',
] as const satisfies readonly (keyof Manifest)[]

/** Throws unless the value is a plugin for this API version. */
export function asPlugin(value: unknown): Plugin {
  const plugin = value as Partial<Plugin> | null | undefined
  if (
    !plugin ||
    typeof plugin !== 'object' ||
    typeof plugin.create !== 'function' ||
    typeof plugin.name !== 'string'
  ) {
    throw new Error('the default export of the module is not a plugin; create one with definePlugin()')
  }
  if (plugin.api !== PLUGIN_API)
    throw new Error(`it is made for plugin API ${plugin.api}, but this is ${PLUGIN_API}`)
  if (!(PLUGIN_KINDS as readonly unknown[]).includes(plugin.kind) || plugin.kind === 'task')
    throw new Error(`"${plugin.kind}" is not a kind of plugin that can be loaded`)
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(plugin.name))
    throw new Error('its name must be 1 to 64 characters of a-z, 0-9, _ and -, beginning with a letter')
  const misplaced = MANIFEST_KEYS.find((key) => key in plugin)
  if (misplaced !== undefined)
    throw new Error(
      `its "${misplaced}" has no effect there: put it into manifest, as manifest: { ${misplaced} }`,
    )
  if (!plugin.settings?.['~standard']) throw new Error('its settings are not a Standard Schema')
  return plugin as Plugin
}
