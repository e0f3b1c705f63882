// Changes settings while a node runs, for `waggle set` and `waggle reload`.

import type { ReconfigureResult } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { type ConfigChange, differenceOf, type LiveConfig } from '../config/live.ts'
import { currentKey } from '../config/sources.ts'
import type { RunOptions } from '../control/node/node.ts'
import type { Log } from '../store/log.ts'

interface ReconfigureOptions {
  config: LiveConfig
  file: string
  /** Whether the memory plan has room for foreign gradients. */
  canMix: boolean
}

/** Implements NodeControl.reconfigure. */
export function createReconfigure(
  { config, file, canMix }: ReconfigureOptions,
  {
    readConfig,
    checkConfig,
    log,
    onChange,
  }: Pick<RunOptions, 'readConfig' | 'checkConfig'> & { log: Log; onChange(): void },
): (settings: Record<string, string>) => Promise<ReconfigureResult> {
  /** Settings from `waggle set`. */
  const laidOver: Record<string, string> = {}
  const isHeld = ({ path, from }: ConfigChange): boolean =>
    path === 'training.max_peer_groups' && from === 0 && !canMix
  return async (given) => {
    const settings = Object.fromEntries(
      Object.entries(given).map(([path, value]) => [currentKey(path), value]),
    )
    const read = () => readConfig({ ...laidOver, ...settings })
    const waiting = differenceOf(config.settings(), read(), isHeld).restart
    // Changes that need a restart are checked now, since a restart stops this node first.
    if (waiting.length > 0 && !waiting.some(({ path }) => path in settings))
      await checkConfig({ ...laidOver, ...settings })
    // Read again, because another call may have changed the config meanwhile.
    const next = read()
    const fixed = differenceOf(config.settings(), next, isHeld).restart.filter(({ path }) => path in settings)
    if (fixed.some(isHeld)) {
      throw new WaggleError(
        'E_CONFIG',
        'training.max_peer_groups cannot be raised from 0 while this node runs: foreign gradients do not fit into the remaining memory',
        {
          hint: `Nothing was changed. Set it in ${file} and run \`waggle restart\`: the new memory plan will include them.`,
        },
      )
    }
    if (fixed.length > 0) {
      throw new WaggleError(
        'E_CONFIG',
        `${fixed.map(({ path }) => path).join(', ')} cannot change while the node runs`,
        {
          hint: `Nothing was changed. Set it in ${file} and run \`waggle restart\`. \`waggle help config\` marks the keys that can change.`,
        },
      )
    }
    Object.assign(laidOver, settings)
    const { live, restart } = config.take(next, isHeld)
    for (const { path, from, to } of live)
      log('info', `${path} changed from ${JSON.stringify(from)} to ${JSON.stringify(to)}`)
    onChange()
    return { changed: live, restart: restart.map(({ path }) => path) }
  }
}
