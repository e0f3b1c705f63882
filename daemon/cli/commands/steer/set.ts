// waggle set: changes settings of the running node until it stops. waggle reload: applies changes of the config file.

import { WaggleError } from '../../../../protocol/errors.ts'
import { currentKey } from '../../../config/sources.ts'
import type { Context } from '../../contract.ts'
import { reconfiguredText } from '../../text/reconfigured-text.ts'

export async function set(context: Context): Promise<number> {
  const pairs = context.arguments.map((pair): [string, string] => {
    const at = pair.indexOf('=')
    if (at < 1) {
      throw new WaggleError('E_USAGE', `set needs KEY=VALUE, not "${pair}"`, {
        hint: 'For example `waggle set training.learning_rate=3e-4`. `waggle help config` lists the keys.',
      })
    }
    const key = pair.slice(0, at).trim()
    const now = currentKey(key)
    if (now !== key) context.say(`${key} is now called ${now}`)
    return [now, pair.slice(at + 1)]
  })
  const status = await reconfigure(context, Object.fromEntries(pairs))
  context.say(`This lasts until the node stops. To keep it, add it to ${context.paths.config}.`)
  return status
}

export const reload = (context: Context): Promise<number> => reconfigure(context, {})

async function reconfigure(context: Context, settings: Record<string, string>): Promise<number> {
  const result = await context.client.send('reconfigure', { settings })
  if (context.json) context.out(JSON.stringify({ v: 1, ...result }))
  else for (const line of reconfiguredText(result)) context.out(line)
  return 0
}
