// waggle restart: stops the daemon with a checkpoint and starts it again in the background.

import { WaggleError } from '../../../protocol/errors.ts'
import { peerName } from '../../../protocol/text.ts'
import type { Context } from '../context.ts'
import { runDetached } from '../detach.ts'
import { contextConfig } from '../load-config.ts'
import { run as stop } from './stop.ts'

export async function run(context: Context): Promise<number> {
  // Before anything is stopped: a node with a config that it cannot start with again had better go on.
  const { config } = contextConfig({ ...context, say: () => {} })
  const running = await context.client.health().catch(() => undefined)
  try {
    // What stop says is talk here; the new daemon's name is the answer.
    await stop({ ...context, json: false, out: context.say })
  } catch (error) {
    if (!(error instanceof WaggleError && error.code === 'E_NOT_RUNNING')) throw error
    context.say('no daemon ran')
  }
  // A name that only the command line gave is in no file.
  const kept =
    config.node.name === undefined && running !== undefined && running.name !== peerName(running.peerId)
  return await runDetached(
    kept ? { ...context, io: withWords(context.io, ['--name', running.name]) } : context,
  )
}

function withWords<T extends { argv: readonly string[] }>(io: T, words: readonly string[]): T {
  return { ...io, argv: [...io.argv, ...words] }
}
