// waggle join: connect to a peer, starting a node here first if none runs.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../context.ts'
import { runForeground } from '../foreground.ts'

export async function run(context: Context): Promise<number> {
  const { client, commandLine } = context
  const target = checkTarget(context.arguments[0]!)
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

/** As in protocol/wire, which this does not load: it must be quick. */
const INVITE_PREFIX = 'waggle1'

/** Only the form is checked here; whether such a peer exists, the node finds out. */
function checkTarget(target: string): string {
  const id = /^(?:12D3KooW|16Uiu2HA|Qm)[1-9A-HJ-NP-Za-km-z]{40,60}$|^[bk][a-z0-9]{50,70}$/
  if (target.startsWith('/') || target.startsWith(INVITE_PREFIX) || id.test(target)) return target
  throw new WaggleError(
    'E_USAGE',
    `"${safeText(target, { limit: 100, line: true })}" is no peer ID, no multiaddr and no invite`,
    {
      hint: 'A peer ID looks like 12D3KooW..., a multiaddr like /ip4/192.0.2.7/tcp/4001/p2p/12D3KooW.... The other node shows both in `waggle status`.',
    },
  )
}
