// waggle restart: stops the daemon with a checkpoint and starts it again in the background.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Context } from '../context.ts'
import { runDetached } from '../detach.ts'
import { contextConfig } from '../load-config.ts'
import { run as stop } from './stop.ts'

export async function run(context: Context): Promise<number> {
  // Before anything is stopped: a node with a config that it cannot start with again had better go on.
  contextConfig({ ...context, say: () => {} })
  try {
    // What stop says is talk here; the new daemon's name is the answer.
    await stop({ ...context, json: false, out: context.say })
  } catch (error) {
    if (!(error instanceof WaggleError && error.code === 'E_NOT_RUNNING')) throw error
    context.say('no daemon ran')
  }
  return await runDetached(context)
}
