// The daemon's plugin host with chosen built-in plugins, for a node without loops. A plugin that fails ends the
// experiment; a value that the host refuses does not. There are no time-outs, so a busy machine does not change
// results.

import { createPluginHost, type PluginHost } from '../../../daemon/host/host.ts'
import type { PluginChoice } from '../../../daemon/host/load.ts'
import { PLUGINS } from '../../../daemon/wiring/built-in.ts'
import { NEEDS, type Need } from '../../../protocol/plugin/index.ts'

export interface ChosenPlugins {
  estimator?: PluginChoice
  selector?: PluginChoice
  corrections?: readonly PluginChoice[]
  hints?: readonly PluginChoice[]
  replay?: readonly PluginChoice[]
  skills?: readonly PluginChoice[]
  controls?: readonly PluginChoice[]
}

export function openHost({
  seed,
  plugins,
  roles,
}: {
  seed: number
  plugins: ChosenPlugins
  roles: readonly string[]
}): Promise<PluginHost> {
  return createPluginHost(
    {
      estimator: { use: 'grpo' },
      corrections: [{ use: 'clip' }, { use: 'tis', unknown: 'keep' }],
      selector: { use: 'uniform' },
      ...plugins,
      seed,
      offers: new Set(Object.keys(NEEDS) as Need[]),
      roles,
    },
    {
      builtIn: PLUGINS,
      importPlugin: (specifier) => Promise.reject(new Error(`${specifier} is not built in`)),
      now: () => 0,
      sleep: (_ms, signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      log: () => {},
      onTrouble({ name, hook, message, refused }) {
        if (!refused) throw new Error(`${name}, ${hook}: ${message}`)
      },
    },
  )
}
