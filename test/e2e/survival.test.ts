// kill -9 while a node trains, then `waggle up` again: the same peer, at the step of its last checkpoint, with pool
// and optimizer as they were, and it goes on learning.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openWeights } from '../../daemon/policy/safetensors/read.ts'
import { createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import { openDatabase } from '../../daemon/store/database/database.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { createPool } from '../../daemon/store/pool/pool.ts'
import { killAll, startDaemon, temporary } from './daemon.ts'

let folder: Awaited<ReturnType<typeof temporary>>
beforeEach(async () => {
  folder = await temporary()
})
afterEach(async () => {
  await killAll()
  await folder.remove()
})

/** What a daemon that is not running has on disk; complaints of the store fail the test. */
async function inspect(home: string) {
  const complaints: string[] = []
  const log = (level: string, message: string) => {
    if (level === 'warn' || level === 'error') complaints.push(message)
  }
  const checkpoints = await createCheckpoints(
    { directory: join(home, 'checkpoints') },
    { disk, clock: () => 0, log },
  )
  const checkpoint = await checkpoints.latest()
  const database = await openDatabase({ directory: join(home, 'store') }, { log })
  const pool = await createPool({ capacityGroups: 10_000 }, { database, log })
  const wanted = { count: 10_000, order: 'newest' } as const
  const groups = [
    ...pool.select({ ...wanted, origin: 'own' }),
    ...pool.select({ ...wanted, origin: 'foreign' }),
  ]
  const remembered = new Set<string>()
  for await (const [, id] of database.namespace('seen').entries()) remembered.add(Buffer.from(id).toString())
  const seen = (ids: string[]) => ids.every((id) => remembered.has(id))
  await database.close()
  expect(complaints).toEqual([])
  if (!checkpoint) return { groups, seen, step: undefined }
  const state = JSON.parse(await readFile(checkpoint.path('state.json'), 'utf8'))
  const moments = await openWeights({ path: checkpoint.path('optimizer.safetensors') }, { disk })
  let largest = 0
  for (const name of moments.tensors.keys()) {
    for (const value of await moments.readFloat32(name)) largest = Math.max(largest, Math.abs(value))
  }
  await moments.close()
  const weights = checkpoint.manifest.files['model.safetensors']!.sha256
  return { groups, seen, step: checkpoint.manifest.step, state, weights, largestMoment: largest }
}

describe('a node that is killed while it trains', () => {
  it('comes back as the same peer, at its last checkpoint, with pool and optimizer, and learns on', async () => {
    const home = join(folder.path, 'home')
    const first = await startDaemon(home, { args: ['up', '--no-swarm'] })
    const before = await first.until(
      'two checkpoints, and groups that wait',
      (s) => (s.checkpoint?.step ?? 0) >= 4 && (s.rollouts?.pool.own ?? 0) > 0,
      120_000,
    )
    await first.kill()

    const left = await inspect(home)
    expect(left.step).toBeGreaterThanOrEqual(before.checkpoint!.step)
    expect(left.largestMoment).toBeGreaterThan(0)

    const second = await startDaemon(home, { args: ['up', '--no-swarm'] })
    expect(second.stderr()).toContain(`continuing at step ${left.step}`)
    const again = await second.until('it answered', () => true)
    expect(again.node.peerId).toBe(before.node.peerId)
    expect(again.node.name).toBe(before.node.name)
    expect(again.checkpoint!.step).toBeGreaterThanOrEqual(left.step!)
    expect(again.training!.step).toBeGreaterThanOrEqual(left.step!)
    const later = await second.until(
      'a checkpoint after that',
      (s) => s.checkpoint!.step >= left.step! + 2,
      120_000,
    )
    expect(later.alerts?.filter(({ key }) => key !== 'lan')).toEqual([])
    const { status, stderr } = await second.stop()
    expect(status).toBe(0)
    expect(stderr).not.toMatch(/dropped|passed over|\n\s+at /)

    const right = await inspect(home)
    expect(right.step).toBeGreaterThan(left.step!)
    expect(right.weights).not.toBe(left.weights)
    // The optimizer counts on from where it was, so it was not begun anew.
    expect(right.state.optimizerSteps - left.state.optimizerSteps).toBe(right.step! - left.step!)
    expect(left.state.optimizerSteps).toBeGreaterThan(0)
    // Everything that was in the pool is still known: used since, or waiting. (A batch may have taken all in the last
    // moment.)
    expect(right.seen(left.groups.map(({ group }) => group.id))).toBe(true)
  }, 300_000)

  it('leaves a home that a graceful stop, too, finds in order: stop at once, start, stop', async () => {
    const home = join(folder.path, 'home')
    const first = await startDaemon(home, { args: ['up', '--no-swarm'] })
    const stopped = await first.stop()
    expect(stopped.status).toBe(0)
    expect(stopped.stderr).toContain('Stopping: saving a checkpoint')
    const second = await startDaemon(home, { args: ['up', '--no-swarm'] })
    expect((await second.stop()).status).toBe(0)
    expect((await inspect(home)).step).toBeGreaterThanOrEqual(0)
  }, 120_000)
})
