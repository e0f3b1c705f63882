// waggle restart: stops the daemon with a checkpoint and starts it again in the background.

import type { Health } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { peerName } from '../../../protocol/text.ts'
import type { Config } from '../../config/schema.ts'
import type { Context } from '../context.ts'
import { runDetached } from '../detach.ts'
import { checkedConfig } from '../load-config.ts'
import { run as stop } from './stop.ts'

export async function run(context: Context): Promise<number> {
  // Before anything is stopped: a node with a config that it cannot start with again had better go on.
  const { config } = await checkedConfig({ ...context, say: () => {} })
  const running = await context.client.health().catch(() => undefined)
  try {
    // What stop says is talk here; the new daemon's name is the answer.
    await stop({ ...context, json: false, out: context.say })
  } catch (error) {
    if (!(error instanceof WaggleError && error.code === 'E_NOT_RUNNING')) throw error
    context.say('no daemon ran')
  }
  const { io } = context
  return await runDetached({ ...context, io: { ...io, argv: [...io.argv, ...wordsToKeep(config, running)] } })
}

/** A name that only the command line gave is in no file, and would be lost. */
export function wordsToKeep(
  { node }: Pick<Config, 'node'>,
  running: Pick<Health, 'name' | 'peerId'> | undefined,
): string[] {
  const given = node.name === undefined && running !== undefined && running.name !== peerName(running.peerId)
  return given ? ['--name', running.name] : []
}
