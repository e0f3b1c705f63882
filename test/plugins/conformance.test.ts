// Every built-in plugin keeps to what any plugin must keep to.

import { describe, test } from 'vitest'
import { PLUGINS } from '../../daemon/wiring/built-in.ts'
import { conformance } from '../../protocol/plugin/testing/index.ts'
import { OPTIONS } from './conformance-options.ts'

describe.each(PLUGINS.map((plugin) => [`${plugin.kind}/${plugin.name}`, plugin] as const))(
  '%s',
  (id, plugin) => {
    for (const { name, run } of conformance(plugin, OPTIONS[id])) test(name.replace(`${id} `, ''), run)
  },
)
