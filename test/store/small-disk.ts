// A small file system of its own at `at`, where the tests may make one (root on Linux).

import { execFileSync } from 'node:child_process'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface SmallDisk {
  /** Leaves so many bytes free, by a file that takes the rest. */
  fill(bytesLeft: number): Promise<void>
  empty(): Promise<void>
  remove(): void
}

export async function mountSmallDisk(at: string, bytes: number): Promise<SmallDisk | undefined> {
  await mkdir(at)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', at], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  const ballast = join(at, 'ballast')
  return {
    async fill(bytesLeft) {
      const { bavail, bsize } = await statfs(at)
      // Somebody else may take a part of it meanwhile; then it is just as full.
      await writeFile(ballast, new Uint8Array(Math.max(0, bavail * bsize - bytesLeft))).catch((error) => {
        if (error.code !== 'ENOSPC') throw error
      })
    },
    empty: () => rm(ballast),
    // Lazily: a process that was just killed may still hold a file.
    remove: () => void execFileSync('umount', ['-l', at], { stdio: 'ignore' }),
  }
}
