// waggle peers: who is there, and what came from each.

import { count, duration, percent } from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../context.ts'
import { tableText } from '../table-text.ts'

export async function run(context: Context): Promise<number> {
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
    peer.rttMs === undefined ? '-' : `${Math.round(peer.rttMs)} ms`,
    peer.lastSeen === undefined ? '-' : duration(time - peer.lastSeen),
    count(peer.received),
    count(peer.verified),
    count(peer.trained),
    peer.received > 0 ? percent(peer.refused / peer.received, 0) : '-',
    peer.version === undefined ? '-' : `v${peer.version}`,
    safeText(peer.id, { limit: 64, line: true }),
  ])
  const head = ['NAME', 'STATE', 'RTT', 'SEEN', 'IN', 'VERIFIED', 'USED', 'REFUSED', 'VERSION', 'PEER ID']
  for (const line of tableText(head, rows)) context.out(line)
  return 0
}
