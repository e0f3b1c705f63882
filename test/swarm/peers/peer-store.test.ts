// The memory of peers on disk: damage to it does not keep a node from starting, and does not pass in silence.

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Key } from 'interface-datastore'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openPeerStore } from '../../../daemon/node/home/peer-store.ts'
import { openPeerDatastore } from '../../../daemon/swarm/index.ts'

let root: string
let path: string
let logged: string[]
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'waggle-peers-'))
  path = join(root, 'peers')
  logged = []
})
afterEach(() => rm(root, { recursive: true, force: true }))

const open = () => openPeerStore({ path }, { log: (_level, message) => logged.push(message) })
const MUTED = new Key('/waggle/memory')

/** One that knows whom it muted. */
async function made(): Promise<void> {
  const store = await open()
  await store.put(MUTED, new TextEncoder().encode('12D3…'))
  await store.close()
}

const file = async (ending: RegExp) => join(path, (await readdir(path)).find((name) => ending.test(name))!)

test.each([
  ['CURRENT', async () => writeFile(join(path, 'CURRENT'), 'x')],
  ['MANIFEST', async () => writeFile(await file(/MANIFEST/), Buffer.alloc(40))],
])(
  'a damaged %s does not keep a node from starting: what can be read is kept, and it is told',
  async (_, harm) => {
    await made()
    await harm()
    // What stopped a node before.
    await expect(openPeerDatastore({ path })).rejects.toMatchObject({ code: 'E_STORE' })
    const store = await open()
    expect(await store.has(MUTED)).toBe(true)
    await store.close()
    expect(logged).toEqual([
      expect.stringMatching(/list of peers .* was damaged.*Joined and muted.*damaged-1/),
    ])
  },
)

test('a deleted or damaged log is reported, since it may have contained mutes', async () => {
  await made()
  await rm(await file(/log$/))
  await (await open()).close()
  expect(logged).toEqual([expect.stringMatching(/older than it was.*Joined and muted/)])
  await made()
  logged = []
  const log = await file(/log$/)
  const bytes = await readFile(log)
  bytes[bytes.length >> 1]! ^= 0xff
  await writeFile(log, bytes)
  await (await open()).close()
  expect(logged).toEqual([expect.stringMatching(/could not be read.*Joined and muted/)])
})
