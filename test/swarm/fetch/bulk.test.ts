// A file of some megabytes between real nodes: whole, resumed, refused.

import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { freshIdentity, startNode, stopNodes, type TestNode } from '../helpers.ts'

let home: string
let server: TestNode
let client: TestNode
const identity = freshIdentity()

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'waggle-bulk-'))
  server = await startNode({}, { identity })
  client = await startNode()
  await client.swarm.join(server.address)
})
afterEach(async () => {
  vi.restoreAllMocks()
  await stopNodes()
  rmSync(home, { recursive: true, force: true })
})

function file(bytes: number): string {
  const path = join(home, 'file')
  writeFileSync(path, randomBytes(bytes))
  return path
}
const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

test('arrives whole, under its name only when it is, and without a trace of the other side’s path', async () => {
  const path = file(5_000_001)
  const { id, size } = await server.swarm.offer({ path, to: [client.swarm.peerId] })
  expect(size).toBe(5_000_001)
  const told: number[] = []
  const result = await client.swarm.download({
    id,
    from: server.swarm.peerId,
    path: join(home, 'copy'),
    onProgress: ({ bytes }) => told.push(bytes),
  })
  expect(result).toEqual({ bytes: size, resumed: 0, chunksFetched: 10 })
  expect(digest(join(home, 'copy'))).toBe(digest(path))
  expect(told.at(-1)).toBe(size)
  expect(readdirSync(home).sort()).toEqual(['copy', 'file'])
})

test('resumes where it stopped: keeps good chunks and fetches damaged ones again', async () => {
  const path = file(4 << 20)
  const { id } = await server.swarm.offer({ path })
  const part = readFileSync(path).subarray(0, 3 << 20)
  part[600_000]! ^= 1
  writeFileSync(join(home, 'copy.partial'), part)
  const result = await client.swarm.download({ id, from: server.swarm.peerId, path: join(home, 'copy') })
  expect(result).toEqual({ bytes: 4 << 20, resumed: 5 * (512 << 10), chunksFetched: 3 })
  expect(digest(join(home, 'copy'))).toBe(digest(path))
})

test('what has come needs no room again, and what is missing does', async () => {
  const path = file(4 << 20)
  const { id } = await server.swarm.offer({ path })
  const copy = join(home, 'copy')
  // As an interrupted fetch leaves it: of the full size, with a hole where nothing has come yet.
  writeFileSync(`${copy}.partial`, readFileSync(path).subarray(0, 3 << 20))
  truncateSync(`${copy}.partial`, 4 << 20)
  const fetchInto = (maxBytes: number) =>
    client.swarm.download({ id, from: server.swarm.peerId, path: copy, maxBytes })
  await expect(fetchInto(900_000)).rejects.toMatchObject({ code: 'E_PEER' })
  expect(await fetchInto(1 << 20)).toMatchObject({ resumed: 3 << 20 })
})

/** Each write to a file fails from now on. */
async function fillDisk(): Promise<void> {
  const handle = await open(join(home, 'file'))
  await handle.close()
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'write').mockRejectedValue(full)
}

test('a disk that is full ends it at once and is named', async () => {
  const { id } = await server.swarm.offer({ path: file(1_000_000) })
  await fillDisk()
  const fetching = client.swarm.download({ id, from: server.swarm.peerId, path: join(home, 'copy') })
  await expect(fetching).rejects.toMatchObject({
    code: 'E_STORE',
    message: expect.stringContaining('no space left'),
  })
})

test('waits for a server that goes away in the middle and comes back', async () => {
  const path = file(40 << 20)
  const { id } = await server.swarm.offer({ path })
  let cut = false
  const done = client.swarm.download({
    id,
    from: server.swarm.peerId,
    path: join(home, 'copy'),
    onProgress: ({ bytes, size }) => {
      if (cut || bytes < size / 2) return
      cut = true
      void server.swarm.stop().then(async () => {
        const again = await startNode({ listen: [server.address.replace(/\/p2p\/.*/, '')] }, { identity })
        await again.swarm.offer({ path })
      })
    },
  })
  const { chunksFetched } = await done
  expect(cut).toBe(true)
  expect(chunksFetched).toBeLessThanOrEqual(80 + 6)
  expect(digest(join(home, 'copy'))).toBe(digest(path))
})

test('a peer that the offer does not name, asks for another ID, or allows fewer bytes gets nothing', async () => {
  const { id } = await server.swarm.offer({ path: file(1_000_000), to: [freshIdentity().peerId] })
  const from = server.swarm.peerId
  const ask = (request: object) =>
    client.swarm.download({
      id,
      from,
      path: join(home, 'copy'),
      signal: AbortSignal.timeout(250),
      ...request,
    })
  await expect(ask({})).rejects.toMatchObject({ code: 'E_PEER' })
  await expect(ask({ id: 'ab'.repeat(32) })).rejects.toMatchObject({ code: 'E_PEER' })
  const open = await server.swarm.offer({ path: join(home, 'file') })
  await expect(ask({ id: open.id, maxBytes: 1000, signal: undefined })).rejects.toMatchObject({
    code: 'E_PEER',
  })
  server.swarm.withdraw(open.id)
  await expect(ask({ id: open.id })).rejects.toMatchObject({ code: 'E_PEER' })
  await expect(server.swarm.offer({ path: join(home, 'nothing') })).rejects.toMatchObject({ code: 'E_STORE' })
})
