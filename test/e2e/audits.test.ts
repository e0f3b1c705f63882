// Two daemons audit each other's steps, also those from before a kill -9.

import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Daemon, killAll, startDaemon, temporary } from './daemon.ts'

let folder: Awaited<ReturnType<typeof temporary>>
beforeEach(async () => {
  folder = await temporary()
})
afterEach(async () => {
  await killAll()
  await folder.remove()
})

const SETTINGS = ['eval.prompts_per_task=4', 'swarm.audits=true']
const start = (name: string, args: string[], more: string[] = []): Promise<Daemon> =>
  startDaemon(join(folder.path, name), { args, settings: [...SETTINGS, ...more] })

it('steps of a node and of its peer are computed again, also after the node was killed', async () => {
  const first = await start('first', ['up'], ['swarm.private=true', 'checkpoint.every_steps=2'])
  const { peerId } = (await first.client.health())!
  const { invite } = await first.client.send('invite', {})
  const second = await start('second', ['join', invite])
  const hasStepped = (steps: number) => (snapshot: { training?: { step: number } }) =>
    (snapshot.training?.step ?? 0) >= steps
  await first.until('it has made steps', hasStepped(4), 120_000)
  const own = await first.client.send('audit', {})
  const passed = { outcome: 'passed', isSame: true }
  expect(own).toMatchObject({ isOwn: true, peer: peerId, audited: [passed] })

  const theirs = await second.client.send('audit', { peer: peerId })
  expect(theirs).toMatchObject({ isOwn: false, peer: peerId, audited: [{ outcome: 'passed' }] })
  expect(theirs.head ?? 'passed').toBe('passed')
  expect((await second.stop()).status).toBe(0)

  const { training } = await first.client.snapshot()
  await first.kill()
  const again = await start('first', ['up'])
  const { audited } = await again.client.send('audit', { all: true })
  expect(audited[0]!.step).toBeLessThan(training!.step)
  expect(audited.length).toBeGreaterThan(1)
  for (const step of audited) expect(step).toMatchObject(passed)
  expect((await again.stop()).status).toBe(0)
}, 300_000)
