// Settings that change while a node runs, by `waggle set` or a file that was edited.

import type { ReconfigureResult } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { differenceOf, takeOn } from '../config/live.ts'
import type { Config } from '../config/schema.ts'
import type { RunOptions } from '../control/node.ts'
import type { Log } from '../store/log.ts'

/** As NodeControl's, at once. `config` is changed in place: whoever may follow reads it when it is used. */
export function createReconfigure(
  { config, file }: { config: Config; file: string },
  { readConfig, log, onChange }: Pick<RunOptions, 'readConfig'> & { log: Log; onChange(): void },
): (settings: Record<string, string>) => ReconfigureResult {
  /** Settings that were changed while it runs. */
  const laidOver: Record<string, string> = {}
  return (settings) => {
    const next = readConfig({ ...laidOver, ...settings })
    const fixed = differenceOf(config, next).restart.filter(({ path }) => path in settings)
    if (fixed.length > 0) {
      throw new WaggleError(
        'E_CONFIG',
        `${fixed.map(({ path }) => path).join(', ')} cannot change while the node runs`,
        {
          hint: `Nothing was changed. Put it into ${file} and \`waggle restart\`; \`waggle help config\` marks what can change.`,
        },
      )
    }
    Object.assign(laidOver, settings)
    const { live, restart } = takeOn(config, next)
    for (const { path, from, to } of live)
      log('info', `${path} is ${JSON.stringify(to)} now, was ${JSON.stringify(from)}`)
    onChange()
    return { changed: live, restart: restart.map(({ path }) => path) }
  }
}
