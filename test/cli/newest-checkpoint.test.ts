// Commands read checkpoints that a running node may remove at any time.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadNewest } from '../../daemon/cli/model/checkpoint.ts'
import { type CheckpointHere, newestCheckpoint } from '../../daemon/cli/model/manifests.ts'

function home() {
  const directory = mkdtempSync(join(tmpdir(), 'waggle-newest-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return {
    newest: () => newestCheckpoint(directory),
    save(name: string) {
      mkdirSync(join(directory, name))
      const manifest = { step: Number(name), lineage: 'a', savedAt: 0, meta: {}, files: {} }
      writeFileSync(join(directory, name, 'manifest.json'), JSON.stringify(manifest))
    },
    remove: (name: string) => rmSync(join(directory, name), { recursive: true }),
  }
}

const nameOf = async ({ name }: CheckpointHere) => name

test('without a checkpoint there is nothing to load', async () => {
  expect(await loadNewest(home().newest, nameOf)).toBeUndefined()
})

test('a checkpoint that the node replaces while it is read gives way to the newer one', async () => {
  const { newest, save, remove } = home()
  save('1')
  const tried: string[] = []
  const loaded = await loadNewest(newest, async ({ name }) => {
    tried.push(name)
    if (name === '1') {
      save('2')
      remove('1')
      throw new Error('it does not exist')
    }
    return name
  })
  expect(loaded).toBe('2')
  expect(tried).toEqual(['1', '2'])
})

test('a checkpoint that cannot be read and is still the newest is an error', async () => {
  const { newest, save } = home()
  save('1')
  const load = () => loadNewest(newest, () => Promise.reject(new Error('damaged')))
  await expect(load()).rejects.toThrow('damaged')
})

test('checkpoints that cannot be read are no bug, and not taken for none', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'waggle-newest-')), 'checkpoints')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))
  writeFileSync(file, '')
  expect(() => newestCheckpoint(file)).toThrow(expect.objectContaining({ code: 'E_HOME' }))
})
