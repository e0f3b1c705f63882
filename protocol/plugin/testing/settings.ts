// Creates a plugin's hooks as a config would.

import type { Hooks } from '../hooks.ts'
import type { Plugin } from '../plugin.ts'

export function settingsOf<Settings>(
  plugin: Plugin<Settings>,
  given: Record<string, unknown> = {},
): Settings {
  const result = plugin.settings['~standard'].validate(given) as { value: Settings; issues?: unknown }
  if (result.issues) throw new Error(`the settings are invalid: ${JSON.stringify(result.issues)}`)
  return result.value
}

/** The plugin's hooks with its default settings, overridden by those given. */
export function withSettings<Settings>(plugin: Plugin<Settings>, given: Record<string, unknown> = {}): Hooks {
  return plugin.create(settingsOf(plugin, given))
}
