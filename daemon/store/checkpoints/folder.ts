// The folder of checkpoints: what is in it, which of them verify, and changes one at a time.

import { join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { ensureDirectory, PARTIAL, removeDirectoryWhole, removePartials } from '../atomic.ts'
import { type Disk, errnoOf, explainErrno } from '../disk.ts'
import type { Log } from '../log.ts'
import { type Manifest, readManifest, verifyCheckpoint } from './manifest.ts'

interface Entry {
  name: string
  sequence: number
  step: number
}

export interface CheckpointFolder {
  /** Newest first. */
  entries(): Promise<Entry[]>
  /** The manifest, or why it cannot be read. Its files are not verified. */
  manifestIn(name: string): Promise<Manifest | string>
  /** The manifest, or why the checkpoint cannot be used. */
  verify(name: string): Promise<Manifest | string>
  /** Call when a checkpoint has been written. */
  written(name: string, manifest: Manifest): void
  remove(name: string): Promise<void>
  /** Explains errors of the disk. */
  guard<Result>(what: string, run: () => Promise<Result>): Promise<Result>
  /** Runs changes of the folder one at a time. */
  inTurn<Result>(what: string, run: () => Promise<Result>): Promise<Result>
}

/** `000012-step-600`; the first number counts checkpoints and decides which is newer. */
const FOLDER = /^(\d{6,15})-step-(\d+)$/

export async function openFolder(
  directory: string,
  { disk, log }: { disk: Disk; log: Log },
): Promise<CheckpointFolder> {
  /** Folders verified or written since the start. */
  const good = new Map<string, Manifest>()
  let queue: Promise<unknown> = Promise.resolve()
  const guard: CheckpointFolder['guard'] = async (what, run) => {
    try {
      return await run()
    } catch (error) {
      // Errors without an errno come from the content to be saved, or are bugs, so they are passed on.
      if (error instanceof WaggleError || !errnoOf(error)) throw error
      const why = errnoOf(error) === 'ENOENT' ? `${directory} does not exist` : explainErrno(error)
      throw new WaggleError('E_CHECKPOINT', `${what}: ${why}`, {
        hint: `Make room on the disk of ${directory} and check its permissions. Older checkpoints are not touched.`,
        data: { directory },
        cause: error,
      })
    }
  }
  await guard('the checkpoint folder cannot be used', async () => {
    await ensureDirectory(directory, { disk })
    const left = await removePartials(directory, { disk })
    if (left.length) log('info', 'removed what an interrupted save left behind', { names: left })
  })

  return {
    guard,
    inTurn(what, run) {
      const done = queue.then(() => guard(what, run))
      queue = done.catch(() => {})
      return done
    },
    async entries() {
      const names = (await disk.readDirectory(directory)).filter((name) => !name.endsWith(PARTIAL))
      const found = names.flatMap((name) => {
        const match = FOLDER.exec(name)
        return match ? [{ name, sequence: Number(match[1]), step: Number(match[2]) }] : []
      })
      return found.sort((a, b) => b.sequence - a.sequence)
    },
    manifestIn: async (name) =>
      good.get(name) ?? readManifest(join(directory, name), { disk }).catch(messageOf),
    async verify(name) {
      const known = good.get(name)
      if (known) return known
      try {
        const manifest = await verifyCheckpoint(join(directory, name), { disk })
        good.set(name, manifest)
        return manifest
      } catch (error) {
        return messageOf(error)
      }
    },
    written: (name, manifest) => void good.set(name, manifest),
    async remove(name) {
      await removeDirectoryWhole(join(directory, name), { disk })
      good.delete(name)
    },
  }
}

const messageOf = (error: unknown): string => (error as Error).message
