// A file from one node to another through what their commands ask for: whole, to whom it is meant for, and only as a file.

import { createHash, randomBytes } from 'node:crypto'
import { linkSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFileSharing } from '../../daemon/control/node/file-sharing.ts'
import { startNode, stopNodes, type TestNode } from '../swarm/helpers.ts'
import { OTHER } from './scripted-node.ts'

let home: string
let mine: TestNode
let theirs: TestNode

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'waggle-share-'))
  mine = await startNode()
  theirs = await startNode()
  await theirs.swarm.join(mine.address)
})
afterEach(async () => {
  await stopNodes()
  rmSync(home, { recursive: true })
})

const sharing = ({ swarm }: TestNode, silentMs = 60_000) =>
  createFileSharing({ silentMs }, { swarm: () => swarm, peer: (name) => name })
const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
function file(): string {
  const path = join(home, 'adapter')
  writeFileSync(path, randomBytes(3_000_000))
  return path
}

test('the key of the identity is not shared, nor by another name', async () => {
  const key = join(home, 'identity.key')
  writeFileSync(key, 'secret')
  symlinkSync(key, join(home, 'adapter'))
  linkSync(key, join(home, 'weights'))
  const { share } = createFileSharing(
    { secrets: [join(home, 'nothing'), key] },
    { swarm: () => mine.swarm, peer: (name) => name },
  )
  for (const name of ['identity.key', 'adapter', 'weights', '../'.concat(basename(home), '/identity.key')])
    await expect(share({ path: join(home, name) })).rejects.toMatchObject({
      code: 'E_USAGE',
      message: expect.stringContaining('is a secret of this node'),
    })
})

test('a peer is known by its name after it has gone', async () => {
  const { peerId } = theirs.swarm
  await theirs.swarm.leave()
  mine.swarm.mute(OTHER, true)
  expect(mine.swarm.known()).toEqual(expect.arrayContaining([peerId, OTHER]))
})

test('what one shares the other fetches, with progress, and it is the same', async () => {
  const path = file()
  const { source, bytes } = await sharing(mine).share({ path, to: [theirs.swarm.peerId] })
  expect(source).toMatch(new RegExp(`^${mine.swarm.peerId}/[0-9a-f]{64}$`))
  expect(bytes).toBe(3_000_000)
  const told: number[] = []
  const copy = join(home, 'copy')
  const result = await sharing(theirs).fetch(
    { source, path: copy },
    { onProgress: ({ fraction = 0 }) => told.push(fraction) },
  )
  expect(result).toEqual({ path: copy, bytes, resumed: 0 })
  expect(digest(copy)).toBe(digest(path))
  expect(told.at(-1)).toBe(1)
})

describe('nothing comes', () => {
  test('of a file that is meant for somebody else; the one who asked is told', async () => {
    const { source } = await sharing(mine).share({ path: file(), to: [mine.swarm.peerId] })
    await expect(sharing(theirs, 1000).fetch({ source, path: join(home, 'copy') })).rejects.toMatchObject({
      code: 'E_PEER',
      message: expect.stringContaining('no data for'),
    })
  })

  test('where something is already, where there is no folder, or what names no file', async () => {
    const { source } = await sharing(mine).share({ path: file() })
    const { fetch } = sharing(theirs)
    await expect(fetch({ source, path: join(home, 'adapter') })).rejects.toMatchObject({ code: 'E_STORE' })
    await expect(fetch({ source, path: join(home, 'no/copy') })).rejects.toMatchObject({ code: 'E_STORE' })
    await expect(fetch({ source, path: 'copy' })).rejects.toMatchObject({ code: 'E_USAGE' })
    for (const wrong of ['x', `${mine.swarm.peerId}/ab`, `${source}/more`, `nobody/${'ab'.repeat(32)}`])
      await expect(fetch({ source: wrong, path: join(home, 'copy') })).rejects.toMatchObject({
        code: 'E_PEER',
      })
  })
})
