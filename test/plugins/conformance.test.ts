// Every built-in plugin keeps to what any plugin must keep to.

import { describe, test } from 'vitest'
import { PLUGINS } from '../../daemon/built-in.ts'
import { type ConformanceOptions, conformance } from '../../protocol/plugin/testing/index.ts'

/** Texts that a plugin can read, and settings with which it does something in a few rounds. */
const OPTIONS: Record<string, ConformanceOptions> = {}

describe.each(PLUGINS.map((plugin) => [`${plugin.kind}/${plugin.name}`, plugin] as const))(
  '%s',
  (id, plugin) => {
    for (const { name, run } of conformance(plugin, OPTIONS[id])) test(name.replace(`${id} `, ''), run)
  },
)
