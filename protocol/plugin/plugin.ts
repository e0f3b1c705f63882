// A plugin is a plain object: a name, a settings schema, a manifest, and a function that creates its hooks. The
// daemon knows only the hooks; it never refers to a method by name.

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
