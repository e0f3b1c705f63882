// waggle restart: saves a checkpoint, stops the daemon, and starts it again in the background.

import { isAbsolute } from 'node:path'
import type { Health } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { peerName, safeText } from '../../../../protocol/text.ts'
import type { Config } from '../../../config/schema.ts'
import { checkedConfig } from '../../checked-config.ts'
import type { Context } from '../../contract.ts'
import { runDetached } from '../../daemon/detach.ts'
import { stopNode } from './stop.ts'

export async function run(context: Context): Promise<number> {
  // Checked first: if a node could not start with this config, the running one must keep running.
  const { config } = await checkedConfig({ ...context, say: () => {} })
  await fetchModels(context, config)
  const running = await context.client.health().catch(() => undefined)
  try {
    const { name, unsaved } = await stopNode(context)
    context.say(
      `${safeText(name)} has stopped${unsaved ? `, and continues from an older checkpoint: ${unsaved.message}` : ''}`,
    )
  } catch (error) {
    if (!(error instanceof WaggleError && error.code === 'E_NOT_RUNNING')) throw error
    context.say('no daemon was running')
  }
  const { io } = context
  return await runDetached({ ...context, io: { ...io, argv: [...io.argv, ...wordsToKeep(config, running)] } })
}

/** Downloads missing models before the stop, so that a failed download does not leave the node stopped. */
async function fetchModels(context: Context, { model, roles }: Config): Promise<void> {
  for (const reference of [model.path, ...roles.map((role) => role.model)]) {
    if (reference === undefined || reference === 'default' || isAbsolute(reference)) continue
    await (await import('../../model/locate.ts')).locateModel(context, reference)
  }
}

/** Keeps a name that was given only on the command line, since the config file does not have it. */
export function wordsToKeep(
  { node }: Pick<Config, 'node'>,
  running: Pick<Health, 'name' | 'peerId'> | undefined,
): string[] {
  const given = node.name === undefined && running !== undefined && running.name !== peerName(running.peerId)
  return given ? ['--name', running.name] : []
}
