// A plugin is a plain object: its name, its settings, what it needs, and some of a few hooks. The daemon
// knows only the hooks, never a method's name.

import type { Hooks } from './hooks.ts'
import type { Manifest, PluginKind } from './manifest.ts'

export const PLUGIN_API = 1

/** Any schema with Standard Schema's `~standard` property, such as those of zod, valibot and arktype. */
export interface SettingsSchema<Settings> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => unknown
    readonly types?: { readonly input: unknown; readonly output: Settings } | undefined
  }
}

export interface Plugin<Settings = unknown> {
  name: string
  kind: PluginKind
  api: typeof PLUGIN_API
  /** One line for lists. */
  summary: string
  settings: SettingsSchema<Settings>
  manifest?: Manifest<Settings>
  create(settings: Settings): Hooks
}

export function definePlugin<Settings>(plugin: Plugin<Settings>): Plugin<Settings> {
  return plugin
}
