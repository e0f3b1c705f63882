// The disk interface, implemented with node:fs. Callers decide what to write when, and how to handle failures.

import { constants } from 'node:fs'
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rmdir,
  stat,
  statfs,
  unlink,
} from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../platform/index.ts'
import { type Disk, type DiskFile, errnoOf } from './disk.ts'

/** One system call moves at most 2^31 - 1 bytes. This is well below, and lets other work run in between. */
const CALL_BYTES = 64 * 1024 * 1024

// Windows has neither flag. O_NONBLOCK prevents an open of a FIFO from waiting forever for its other end.
const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
const CREATE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL

export const nodeDisk: Disk = {
  async open(path, mode) {
    return nodeFile(await open(path, mode === 'read' ? READ_FLAGS : CREATE_FLAGS, 0o600))
  },

  async stat(path) {
    try {
      const facts = await lstat(path)
      const kind = facts.isFile()
        ? 'file'
        : facts.isDirectory()
          ? 'directory'
          : facts.isSymbolicLink()
            ? 'link'
            : 'other'
      return { kind, size: facts.size }
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw error
    }
  },

  realPath: (path) => realpath(path),
  readDirectory: (path) => readdir(path),
  async makeDirectory(path) {
    await mkdir(path, { mode: 0o700 })
  },
  removeDirectory: (path) => rmdir(path),
  unlink: (path) => unlink(path),
  rename: (from, to) => rename(from, to),

  syncDirectory: (path) => syncFolder(path),
}

function nodeFile(handle: FileHandle): DiskFile {
  return {
    async read(into, position) {
      let done = 0
      while (done < into.length) {
        const want = Math.min(into.length - done, CALL_BYTES)
        const { bytesRead } = await handle.read(into, done, want, position + done)
        if (bytesRead === 0) break
        done += bytesRead
      }
      return done
    },
    async append(bytes) {
      let done = 0
      while (done < bytes.length) {
        const { bytesWritten } = await handle.write(bytes, done, Math.min(bytes.length - done, CALL_BYTES))
        done += bytesWritten
      }
    },
    sync: () => handle.sync(),
    close: () => handle.close(),
  }
}

/** Bytes that the user may still write to the disk of this path; undefined if unknown. */
export async function freeBytes(path: string): Promise<number | undefined> {
  const facts = await statfs(path).catch(() => undefined)
  return facts && facts.bavail * facts.bsize
}

/** Total size of the files in a folder, in bytes. Missing files and folders count as 0. */
export async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  let total = 0
  for (const name of names) {
    const facts = await stat(join(folder, name)).catch(() => undefined)
    if (facts?.isFile()) total += facts.size
  }
  return total
}
