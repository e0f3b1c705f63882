// Two daemons on one machine. The second knows the first's peer ID and nothing else. Both receive each other's groups,
// verify them, and train on them.

import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Snapshot } from '../../protocol/api/index.ts'
import { killAll, startDaemon, temporary, waggle } from './daemon.ts'

let folder: Awaited<ReturnType<typeof temporary>>
beforeEach(async () => {
  folder = await temporary()
})
afterEach(async () => {
  await killAll()
  await folder.remove()
})

describe('two nodes', () => {
  it('find each other by a bare peer ID, and both train on what the other one wrote', async () => {
    const first = await startDaemon(join(folder.path, 'first'))
    const { peerId } = (await first.client.health())!
    const second = await startDaemon(join(folder.path, 'second'), { args: ['join', peerId] })
    const other = (await second.client.health())!.peerId
    // Other tests' nodes may be about: on one machine everybody finds everybody.
    const isUp = (id: string, { swarm }: Snapshot) =>
      swarm?.peers.some((peer) => peer.id === id && (peer.state === 'up' || peer.state === 'mesh'))
    for (const [node, id] of [
      [first, other],
      [second, peerId],
    ] as const) {
      await node.until(
        'foreign groups were received, verified and trained on',
        ({ rollouts }) =>
          rollouts && rollouts.received > 0 && rollouts.verified > 0 && rollouts.trainedForeign > 0,
        180_000,
      )
      // A connection that another one supersedes is not up for a moment.
      await node.until('the other one is up', (snapshot) => isUp(id, snapshot) === true)
    }
    const status = await waggle(['status', '--json', '--home', second.home])
    expect(status.status).toBe(0)
    expect(JSON.parse(status.stdout).swarm.peers.map((peer: { id: string }) => peer.id)).toContain(peerId)
    expect(second.stderr()).toContain('joined')

    // One goes; the other trains on alone.
    expect((await first.stop()).status).toBe(0)
    const alone = await second.until('it noticed', (snapshot) => !isUp(peerId, snapshot))
    await second.until('it trained on', ({ training }) => training!.step > alone.training!.step + 1, 120_000)
    expect((await second.stop()).status).toBe(0)
  }, 420_000)
})
