// waggle env finds its packages beside it and, as npm installs them with others, above it.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { versionOf } from '../../daemon/cli/commands/set-up/env.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waggle-env-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function install(at: string, version: string): Promise<void> {
  await mkdir(join(folder, at), { recursive: true })
  await writeFile(join(folder, at, 'package.json'), JSON.stringify({ name: 'libp2p', version }))
}

test('the version of a package beside this one, of one inside it, and of none', async () => {
  const root = join(folder, 'node_modules/waggle')
  await mkdir(root, { recursive: true })
  await writeFile(join(root, 'package.json'), '{}')
  expect(versionOf(root, 'libp2p')).toBe('not found')
  await install('node_modules/libp2p', '3.0.0')
  expect(versionOf(root, 'libp2p')).toBe('3.0.0')
  await install('node_modules/waggle/node_modules/libp2p', '2.0.0')
  expect(versionOf(root, 'libp2p')).toBe('2.0.0')
})
