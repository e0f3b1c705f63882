// kill -9 in the middle of a fetch, of an average and of its checkpoint; and a full disk.

import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { failing, type Point, startNode } from './averaging-node.ts'

const VICTIM = join(import.meta.dirname, 'averaging-node.ts')

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'waggle-heads-'))
})
afterEach(() => rm(home, { recursive: true }))

describe('a node that is killed', () => {
  test.each<[string, Point]>([
    ['after half of a head has come', 'chunk'],
    ['after half of the averaged tensors are in place', 'tensors'],
    ['after a part of the averaged weights is on disk', 'bytes'],
  ])('%s goes on from a whole checkpoint, without the head, and averages it then', async (_when, point) => {
    const before = await startNode(home)
    await before.average()
    expect([before.value(), before.heads()]).toEqual([2.5, 1])
    await before.save()

    const { signal, stderr } = spawnSync(process.execPath, [VICTIM, home, point], { encoding: 'utf8' })
    expect([signal, stderr]).toEqual(['SIGKILL', ''])

    const again = await startNode(home)
    expect([again.value(), again.heads()]).toEqual([2.5, 1])
    await again.average()
    expect([again.value(), again.heads()]).toEqual([2.5, 2])
    await again.save()
    expect((await startNode(home)).heads()).toBe(2)
  })
})

test('a full disk keeps averaged weights from being saved, says so, and training goes on', async () => {
  let isFull = true
  const disk = failing((append) => {
    if (isFull && append > 0) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  })
  const node = await startNode(home, { disk })
  await node.average()
  await expect(node.save()).rejects.toMatchObject({
    code: 'E_CHECKPOINT',
    message: 'the checkpoint at step 4 was not saved: the disk is full',
    hint: expect.stringMatching(/^Make room on the disk of /),
  })
  expect(await readdir(join(home, 'checkpoints'))).toEqual([])
  await node.average(2.5)
  expect([node.value(), node.heads()]).toEqual([2.25, 2])
  isFull = false
  await node.save()
  const again = await startNode(home)
  expect([again.value(), again.heads()]).toEqual([2.25, 2])
})
