// Bytes kept under their SHA-256 in one folder. Nothing is synced: what a power cut damages fails its hash and counts as
// absent.

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { ensureDirectory, PARTIAL, remove } from './atomic.ts'
import { type Disk, errnoOf } from './disk.ts'

export interface Blobs {
  /** Resolves with the SHA-256, 64 hex digits. */
  put(bytes: Uint8Array): Promise<string>
  /** Undefined if it is not here, or damaged. */
  get(hash: string): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Deletes all others. */
  keepOnly(hashes: ReadonlySet<string>): Promise<void>
}

const NAME = /^[0-9a-f]{64}$/
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export function createBlobs({ directory }: { directory: string }, { disk }: { disk: Disk }): Blobs {
  const pathOf = (hash: string): string => join(directory, hash)
  let isThere = false

  return {
    async put(bytes) {
      const hash = hashOf(bytes)
      if (!isThere) await ensureDirectory(directory, { disk })
      isThere = true
      if ((await disk.stat(pathOf(hash)))?.size === bytes.length) return hash
      const partial = pathOf(hash) + PARTIAL
      await remove(partial, { disk })
      const file = await disk.open(partial, 'create')
      try {
        await file.append(bytes)
      } finally {
        await file.close()
      }
      await disk.rename(partial, pathOf(hash))
      return hash
    },

    async get(hash) {
      if (!NAME.test(hash)) return undefined
      const facts = await disk.stat(pathOf(hash))
      if (facts?.kind !== 'file') return undefined
      const bytes = new Uint8Array(facts.size)
      const file = await disk.open(pathOf(hash), 'read')
      try {
        await file.read(bytes, 0)
      } finally {
        await file.close()
      }
      return hashOf(bytes) === hash ? bytes : undefined
    },

    async keepOnly(hashes) {
      for (const name of await names())
        if (!hashes.has(name)) await disk.unlink(join(directory, name)).catch(() => {})
    },
  }

  async function names(): Promise<string[]> {
    try {
      return await disk.readDirectory(directory)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return []
      throw error
    }
  }
}
