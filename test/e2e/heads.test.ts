// Daemons average their weights and audit each other's steps, also after one was killed: in a private swarm, and as
// strangers.

import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Snapshot } from '../../protocol/api/index.ts'
import { type Daemon, killAll, startDaemon, temporary } from './daemon.ts'

let folder: Awaited<ReturnType<typeof temporary>>
beforeEach(async () => {
  folder = await temporary()
})
afterEach(async () => {
  await killAll()
  await folder.remove()
})

/** Catching up evaluates; four questions are enough to say that nothing broke. */
const SETTINGS = ['eval.prompts_per_task=4', 'swarm.audits=true']
const start = (name: string, args: string[], more: string[] = []): Promise<Daemon> =>
  startDaemon(join(folder.path, name), { args, settings: [...SETTINGS, ...more] })
const averagesWith =
  (peer: string, since = 0) =>
  ({ heads }: Snapshot) =>
    heads?.peers.some((one) => one.peer === peer && one.at > since)

it('daemons of one lineage average and audit weights beside one of another, and go on after kill -9', async () => {
  const first = await start('first', ['up'], ['swarm.private=true'])
  const { peerId } = (await first.client.health())!
  const { invite } = await first.client.send('invite', {})
  const [second, third] = await Promise.all([
    start('second', ['join', invite]),
    start('third', ['join', invite], ['training.method=lora', 'training.lora_rank=2']),
  ])
  const [other, unlike] = [(await second.client.health())!.peerId, (await third.client.health())!.peerId]
  await first.until('it averages with the second', averagesWith(other), 240_000)
  await second.until('it averages with the first', averagesWith(peerId), 240_000)
  const { heads } = await second.client.snapshot()
  expect(heads).toMatchObject({ refused: 0, lineage: (await first.client.snapshot()).heads!.lineage })
  expect(heads!.bytesIn).toBeGreaterThanOrEqual(heads!.size)

  await first.until('it has rollouts of the third', ({ swarm }) =>
    swarm?.peers.some(({ id, verified }) => id === unlike && verified > 0),
  )
  const apart = (await third.client.snapshot()).heads!
  expect(apart).toMatchObject({ peers: [], bytesIn: 0, refused: 0 })
  expect(apart.lineage).not.toBe(heads!.lineage)
  expect((await first.client.snapshot()).heads!.peers.map(({ peer }) => peer)).not.toContain(unlike)
  await third.kill()

  const passed = { outcome: 'passed', isSame: true }
  const theirs = await second.client.send('audit', { peer: peerId })
  expect(theirs).toMatchObject({ isOwn: false, peer: peerId, audited: [passed] })
  expect(theirs.head ?? 'passed').toBe('passed')

  // A node that has made no step yet averages, too.
  await second.until(
    'it kept steps of its own',
    ({ checkpoint }) => checkpoint && checkpoint.step >= 4,
    120_000,
  )
  // Or the first would be so far ahead of it on a slow machine that luck in a trial decided when they average again.
  await first.client.send('pause', {})
  await second.kill()
  const killed = Date.now()
  const again = await start('second', ['join', invite])
  await first.client.send('resume', {})
  // Steps from before the kill: it has made none, or one, since.
  const own = await again.client.send('audit', {})
  expect(own).toMatchObject({ isOwn: true, peer: other, audited: [passed] })
  expect(own.steps).toBeGreaterThan(1)
  await again.until('it averages with the first again', averagesWith(peerId), 240_000)
  await first.until('it averages with the second again', averagesWith(other, killed), 240_000)
  for (const daemon of [first, again]) expect((await daemon.stop()).status).toBe(0)
}, 600_000)

it('strangers that begin with the same warm start audit each other’s steps, whatever their seeds', async () => {
  const settings = ['swarm.weights=audited', 'warm_start.steps=3', 'training.max_peer_groups=0']
  const [first, second] = await Promise.all([
    start('first', ['up'], [...settings, 'node.seed=1']),
    start('second', ['up'], [...settings, 'node.seed=2']),
  ])
  const [address] = (await first.client.snapshot()).swarm!.addresses
  await second.client.send('join', { target: address! })
  for (const daemon of [first, second]) {
    await daemon.until(
      'it has audited a step of the other',
      ({ heads }) => heads?.audits !== undefined,
      240_000,
    )
    await vi.waitFor(
      () => expect(daemon.stdout() + daemon.stderr()).toMatch(/step of the stranger .* passed, 1 in a row/),
      10_000,
    )
  }
  for (const daemon of [first, second]) expect((await daemon.stop()).status).toBe(0)
}, 600_000)
