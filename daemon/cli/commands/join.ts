// waggle join: connect to a peer, starting a node here first if none runs.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../context.ts'
import { runForeground } from '../foreground.ts'
import { readTarget } from '../join-target.ts'

export async function run(context: Context): Promise<number> {
  const { client, commandLine } = context
  const target = await readTarget(context.arguments[0]!, context.io.stdin)
  const running = await client.health().catch((error: unknown) => {
    // Only here can one be started.
    if (error instanceof WaggleError && error.code === 'E_NOT_RUNNING' && !context.on) return undefined
    throw error
  })
  if (!running) return await runForeground(context, { join: target })
  if (target.endsWith(running.peerId)) {
    throw new WaggleError(
      'E_PEER',
      `${safeText(running.name)} is the node that runs here, and it cannot join itself`,
      {
        hint: `For a second node on this machine give it a home of its own: \`${context.io.program} join ${target} --home DIR\`.`,
      },
    )
  }
  context.say(`asking ${safeText(running.name)}, which runs here, to join`)
  const peer = await client.send(
    'join',
    { target },
    {
      onProgress: ({ message }) => context.say(`  ${safeText(message, { line: true })}`),
    },
  )
  if (context.json) context.out(JSON.stringify({ v: 1, ...peer }))
  else
    context.out(
      `${peer.already ? 'was connected to' : 'joined'} ${safeText(peer.name)}  ${safeText(peer.peerId)}`,
    )
  context.say(`watch it: ${commandLine('top')}`)
  return 0
}
