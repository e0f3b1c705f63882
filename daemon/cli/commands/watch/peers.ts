// waggle peers: lists peers and what each has sent; mutes and unmutes peers.

import { bytes, count, duration, type PeerInfo, refusalsText } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'
import { tableText } from '../../text/table-text.ts'

export async function run(context: Context): Promise<number> {
  const [action = 'list', peer] = context.arguments
  if (action !== 'list') return await mute(context, peer, action === 'mute')
  const { swarm, time } = await context.client.snapshot()
  if (context.json) {
    context.out(JSON.stringify({ v: 1, peers: swarm?.peers ?? [] }))
    return 0
  }
  if (!swarm?.enabled) {
    context.say('The swarm is off: this node trains alone.')
    return 0
  }
  if (swarm.peers.length === 0) {
    context.say(`No peers yet. Join one with \`${context.commandLine('join <peer ID>')}\`.`)
    return 0
  }
  const rows = swarm.peers.map((peer) => [
    safeText(peer.name, { limit: 32, line: true }),
    peer.state,
    peer.how ?? '-',
    peer.rttMs === undefined ? '-' : `${Math.round(peer.rttMs)} ms`,
    peer.lastSeen === undefined ? '-' : duration(time - peer.lastSeen),
    count(peer.received),
    ...[peer.bytesIn, peer.bytesOut].map((moved) => (moved === undefined ? '-' : bytes(moved))),
    count(peer.verified),
    count(peer.trained),
    refused(peer),
    peer.version === undefined ? '-' : `v${peer.version}`,
    safeText(peer.id, { limit: 64, line: true }),
  ])
  const head = [
    'NAME',
    'STATE',
    'HOW',
    'RTT',
    'SEEN',
    'IN',
    'BYTES IN',
    'BYTES OUT',
    'VERIFIED',
    'USED',
    'REFUSED',
    'VERSION',
    'PEER ID',
  ]
  for (const line of tableText(head, rows)) context.out(line)
  return 0
}

async function mute(context: Context, peer: string | undefined, on: boolean): Promise<number> {
  if (peer === undefined) {
    throw new WaggleError('E_USAGE', `peers ${on ? 'mute' : 'unmute'} needs a peer: its name or its ID`, {
      hint: '`waggle peers` lists them.',
    })
  }
  const result = await context.client.send('mute', { peer, on })
  context.out(
    context.json
      ? JSON.stringify({ v: 1, ...result, peer })
      : `${safeText(peer, { line: true })} is ${result.message}`,
  )
  return 0
}

/** The number of refused groups and the two most common reasons. */
function refused({ refused, refusedWhy = {} }: PeerInfo): string {
  if (refused === 0) return '-'
  const why = refusalsText(refusedWhy, 2)
  return `${count(refused)}${why ? ` (${why})` : ''}`
}
