// Writes a file or a folder whole or not at all, even if the power fails: write under a temporary name, fsync, rename,
// fsync the parent folder. (Without the last step, a power cut can undo a rename that was reported as done; ALICE,
// OSDI '14, found 60 such holes in 11 systems.) The lock on the home ensures a single writer for each path.

import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { type Disk, errnoOf } from './disk.ts'

/** Content of a file. A stream is written piece by piece, so it is never held in memory as a whole. */
export type Content = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>

export interface Written {
  bytes: number
  /** SHA-256 of the content, 64 hex digits. */
  sha256: string
}

/** Suffix of unfinished files and folders, which may be deleted at any time. */
export const PARTIAL = '.partial'

/** Replaces `path` by `content`. When this resolves, the new content survives a power cut. */
export async function writeFileWhole(
  { path, content }: { path: string; content: Content },
  { disk }: { disk: Disk },
): Promise<Written> {
  const partial = path + PARTIAL
  try {
    await remove(partial, { disk })
    const written = await writeFile({ path: partial, content }, { disk })
    await disk.rename(partial, path)
    await disk.syncDirectory(dirname(path))
    return written
  } catch (error) {
    await removeQuietly(partial, disk)
    throw error
  }
}

/**
 * Creates the folder `path`, which must not exist, with the files that `fill` writes. `fill` gets a function that
 * writes one file; files become durable in the order in which they were written.
 */
export async function writeDirectoryWhole<Result>(
  { path }: { path: string },
  fill: (put: (name: string, content: Content) => Promise<Written>) => Promise<Result>,
  { disk }: { disk: Disk },
): Promise<Result> {
  const partial = path + PARTIAL
  try {
    await remove(partial, { disk })
    await disk.makeDirectory(partial)
    const result = await fill((name, content) => writeFile({ path: join(partial, name), content }, { disk }))
    await disk.syncDirectory(partial)
    await disk.rename(partial, path)
    await disk.syncDirectory(dirname(path))
    return result
  } catch (error) {
    await removeQuietly(partial, disk)
    throw error
  }
}

/** Deletes a file, or a folder and its files (folders are one level deep here). A missing path is fine. */
export async function remove(path: string, { disk }: { disk: Disk }): Promise<void> {
  const facts = await disk.stat(path)
  if (!facts) return
  if (facts.kind !== 'directory') return await disk.unlink(path)
  for (const name of await disk.readDirectory(path)) await disk.unlink(join(path, name))
  await disk.removeDirectory(path)
}

/** Renames a folder before deleting it, so that nobody ever sees it half empty. */
export async function removeDirectoryWhole(path: string, { disk }: { disk: Disk }): Promise<void> {
  await remove(path + PARTIAL, { disk })
  await disk.rename(path, path + PARTIAL)
  await disk.syncDirectory(dirname(path))
  await remove(path + PARTIAL, { disk })
}

/** Deletes what killed writers left behind in `directory`. Resolves with the names. */
export async function removePartials(directory: string, { disk }: { disk: Disk }): Promise<string[]> {
  const names = (await disk.readDirectory(directory)).filter((name) => name.endsWith(PARTIAL))
  for (const name of names) await remove(join(directory, name), { disk })
  return names
}

/** Creates a folder and its parents, durably. */
export async function ensureDirectory(path: string, { disk }: { disk: Disk }): Promise<void> {
  if ((await disk.stat(path))?.kind === 'directory') return
  if (dirname(path) !== path) await ensureDirectory(dirname(path), { disk })
  try {
    await disk.makeDirectory(path)
  } catch (error) {
    // A link to a folder, or another process was faster: fine if it can be listed.
    if (errnoOf(error) !== 'EEXIST') throw error
    await disk.readDirectory(path)
    return
  }
  await disk.syncDirectory(dirname(path))
}

async function writeFile(
  { path, content }: { path: string; content: Content },
  { disk }: { disk: Disk },
): Promise<Written> {
  const hash = createHash('sha256')
  let bytes = 0
  const file = await disk.open(path, 'create')
  try {
    for await (const piece of pieces(content)) {
      hash.update(piece)
      bytes += piece.length
      await file.append(piece)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}

function pieces(content: Content): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (typeof content === 'string') return [Buffer.from(content, 'utf8')]
  return content instanceof Uint8Array ? [content] : content
}

/** Cleans up after a failure. Its own errors are dropped, since the user needs the first one. */
async function removeQuietly(path: string, disk: Disk): Promise<void> {
  try {
    await remove(path, { disk })
  } catch {}
}
