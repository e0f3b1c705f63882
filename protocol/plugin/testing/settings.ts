// A plugin's hooks as a config would create them.

import type { Hooks } from '../hooks.ts'
import type { Plugin } from '../plugin.ts'

export function settingsOf<Settings>(
  plugin: Plugin<Settings>,
  given: Record<string, unknown> = {},
): Settings {
  const result = plugin.settings['~standard'].validate(given) as { value: Settings; issues?: unknown }
  if (result.issues) throw new Error(`the settings are refused: ${JSON.stringify(result.issues)}`)
  return result.value
}

/** Its hooks, created as a config would: defaults, and what is given on top. */
export function withSettings<Settings>(plugin: Plugin<Settings>, given: Record<string, unknown> = {}): Hooks {
  return plugin.create(settingsOf(plugin, given))
}
