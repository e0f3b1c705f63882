// The disk fills up under a node that trains: it says so and stays alive, and goes on by itself when there is room.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mountSmallDisk } from '../store/small-disk.ts'
import { killAll, startDaemon, temporary } from './daemon.ts'

let folder: Awaited<ReturnType<typeof temporary>>
beforeEach(async () => {
  folder = await temporary()
})
afterEach(async () => {
  await killAll()
  await folder.remove()
})

describe('a full disk', () => {
  it('is reported, survived, and recovered from without a restart', async (context) => {
    const at = join(folder.path, 'd')
    // A checkpoint of the default model takes 13 MB; three stay, and one is being written.
    const disk = await mountSmallDisk(at, 100_000_000)
    if (!disk) return context.skip('may not mount a file system here')
    try {
      const home = join(at, 'h')
      const node = await startDaemon(home, { args: ['up', '--no-swarm'] })
      const before = await node.until('a checkpoint', ({ checkpoint }) => checkpoint, 120_000)
      await disk.fill(0)
      const full = await node.until(
        'it noticed',
        ({ alerts }) => alerts?.some((a) => /disk is full/.test(a.message)),
        120_000,
      )
      // It tries again by and by, so a partial checkpoint may be there for a moment; none may stay.
      const partial = async () =>
        (await readdir(join(home, 'checkpoints'))).filter((name) => name.includes('partial'))
      await expect.poll(partial, { timeout: 30_000, interval: 20 }).toEqual([])

      await disk.empty()
      const after = await node.until(
        'it saves again',
        ({ checkpoint, alerts }) => checkpoint!.step > full.checkpoint!.step && alerts?.length === 0,
        120_000,
      )
      expect(after.training!.step).toBeGreaterThan(before.training!.step)
      expect(after.node.pid).toBe(node.pid)
      const { status, stderr } = await node.stop()
      expect(status).toBe(0)
      expect(stderr).not.toMatch(/\n\s+at /)
    } finally {
      await killAll()
      disk.remove()
    }
  }, 400_000)
})
