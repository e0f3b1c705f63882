// waggle join: connects to a peer. Starts a node first if none is running.

import { metText } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { isPeerName, safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'
import { runDetached } from '../../daemon/detach.ts'
import { runForeground } from '../../daemon/foreground.ts'
import { readTarget } from '../../daemon/join-target.ts'
import { createProgressLine } from '../../text/progress.ts'

export async function run(context: Context): Promise<number> {
  const { client } = context
  const target = await readTarget(context.arguments[0]!, context.io.stdin)
  const running = await client.health().catch((error: unknown) => {
    // A remote node cannot be started from here.
    if (error instanceof WaggleError && error.code === 'E_NOT_RUNNING' && !context.on) return undefined
    throw error
  })
  if (!running && isPeerName(target))
    throw new WaggleError('E_PEER', `only a running node can find a peer by its name, ${target}`, {
      hint: `Give the peer's ID, or start the node first: \`${context.commandLine('up')}\`, then \`${context.commandLine(`join ${target}`)}\`.`,
    })
  if (!running) (await import('../../check/target.ts')).checkTarget(target)
  if (!running && context.options.detach !== true) return await runForeground(context, { join: target })
  if (!running) {
    const status = await startDetached(context)
    return status === 0 ? await join(context, target) : status
  }
  if (target.endsWith(running.peerId)) {
    throw new WaggleError('E_PEER', `${safeText(running.name)} is this node, which cannot join itself`, {
      hint: `To run a second node on this machine, use a separate home: \`${context.io.program} join ${target} --home DIR\`.`,
    })
  }
  context.say(`asking the running node ${safeText(running.name)} to join`)
  return await join(context, target)
}

/** Runs `up --detach` with the same options. Its output goes to standard error; the result is the joined peer. */
async function startDetached(context: Context): Promise<number> {
  const { argv } = context.io
  const target = argv.lastIndexOf(context.arguments[0]!)
  return await runDetached({
    ...context,
    ...{ json: false, out: context.say, io: { ...context.io, argv: argv.toSpliced(target, 1) } },
  })
}

async function join({ client, commandLine, ...context }: Context, target: string): Promise<number> {
  const progress = createProgressLine(context)
  const peer = await client.send('join', { target }, { onProgress: progress.show }).finally(progress.end)
  if (context.json) context.out(JSON.stringify({ v: 1, ...peer }))
  else
    context.out(
      `${peer.already ? 'already connected to' : 'joined'} ${safeText(peer.name)}  ${safeText(peer.peerId)}`,
    )
  if (peer.weights && !context.json) context.out(metText(peer.weights, context.io))
  context.say(`watch it: ${commandLine('top')}`)
  return 0
}
