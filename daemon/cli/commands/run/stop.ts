// waggle stop: asks the daemon to save a checkpoint and stop, and waits until it has ended.

import { setTimeout as sleep } from 'node:timers/promises'
import { WaggleError } from '../../../../protocol/errors.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'
import { createProgressLine } from '../../text/progress.ts'

const GONE_WITHIN_MS = 30_000

export async function run(context: Context): Promise<number> {
  const { name, pid, unsaved } = await stopNode(context)
  if (context.json) context.out(JSON.stringify({ v: 1, stopped: true, name, pid }))
  else context.out(`${safeText(name)} has stopped`)
  if (unsaved) throw unsaved
  return 0
}

/** A node whose checkpoint cannot be saved stops all the same; `unsaved` says why it was not. */
export async function stopNode(
  context: Context,
): Promise<{ name: string; pid: number; unsaved: WaggleError | undefined }> {
  const { client, options } = context
  const { name, pid } = await client.health()
  const checkpoint = options['no-checkpoint'] !== true
  context.say(`stopping ${safeText(name)}${checkpoint ? ', with a checkpoint' : ''}`)
  const progress = createProgressLine(context)
  const unsaved = await client
    .send('stop', { checkpoint }, { onProgress: progress.show })
    .then(() => undefined, asUnsaved)
    .finally(progress.end)
  // The answer comes when the node is down; its process and lock disappear a moment later.
  const until = context.io.clock() + GONE_WITHIN_MS
  while (await answers(context)) {
    if (context.io.clock() > until) {
      throw new WaggleError('E_CONTROL', `process ${pid} reported that it stopped, but still answers`, {
        hint: `Check what it is doing, or end it with \`kill ${pid}\`.`,
      })
    }
    await sleep(50)
  }
  return { name, pid, unsaved }
}

function asUnsaved(error: unknown): WaggleError {
  if (error instanceof WaggleError && error.code === 'E_CHECKPOINT') return error
  throw error
}

async function answers({ client }: Context): Promise<boolean> {
  return await client.health().then(
    () => true,
    () => false,
  )
}
