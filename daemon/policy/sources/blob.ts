// Downloads one file of a repository into the cache: resumes an earlier attempt, verifies the hash of the whole file on
// disk before renaming it, and links it into the snapshot. Bytes are written at their offsets, so two programs that
// download the same file at the same time write the same bytes.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdir, open, rename, stat, symlink, unlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { errnoOf, explainErrno } from '../../store/disk.ts'
import { type HubFetch, unreachable } from './hub-fetch.ts'
import type { HubFile } from './hub-files.ts'

export interface BlobFolders {
  /** `models--org--name`. */
  repository: string
  snapshot: string
}

/** Bytes of the file that are already on disk, whether complete or partial. */
export async function bytesThere(file: HubFile, { repository }: BlobFolders): Promise<number> {
  const blob = join(repository, 'blobs', file.hash.hex)
  return (await sizeOf(blob)) ?? Math.min(file.size, (await sizeOf(partialOf(blob))) ?? 0)
}

interface BlobOptions {
  file: HubFile
  url: string
  folders: BlobFolders
  /** Most reconnects in a row that bring no new bytes. */
  attempts?: number
  onBytes?: ((count: number) => void) | undefined
  signal?: AbortSignal | undefined
}

export async function fetchBlob(
  { file, url, folders, attempts = 5, onBytes, signal }: BlobOptions,
  { fetch, sleep }: { fetch: HubFetch; sleep(ms: number, signal?: AbortSignal): Promise<void> },
): Promise<void> {
  const blob = join(folders.repository, 'blobs', file.hash.hex)
  try {
    await mkdir(join(folders.repository, 'blobs'), { recursive: true })
    await mkdir(dirname(join(folders.snapshot, file.name)), { recursive: true })
    if ((await sizeOf(blob)) !== file.size) {
      for (let idle = 0; ; ) {
        const before = (await sizeOf(partialOf(blob))) ?? 0
        const broken = await receive({ file, url, partial: partialOf(blob), onBytes, signal }, fetch)
        if (broken === undefined) break
        signal?.throwIfAborted()
        idle = ((await sizeOf(partialOf(blob))) ?? 0) > before ? 0 : idle + 1
        if (idle >= attempts) throw unreachable(new URL(url), broken)
        await sleep(1000 * 2 ** idle, signal)
      }
      await verify(file, partialOf(blob))
      // Another program may have finished first, with the same bytes.
      await rename(partialOf(blob), blob).catch(async (error) => {
        if ((await sizeOf(blob)) !== file.size) throw error
      })
    }
    await link(blob, join(folders.snapshot, file.name))
  } catch (cause) {
    if (errnoOf(cause) === '' || cause instanceof WaggleError) throw cause
    throw new WaggleError('E_MODEL', `${file.name} cannot be written to the cache: ${explainErrno(cause)}`, {
      hint: 'Make room, or set HF_HOME to a disk that has some. The next attempt resumes the download.',
      cause,
    })
  }
}

const partialOf = (blob: string): string => `${blob}.incomplete`

/** Returns the error that interrupted the connection; undefined once the file is complete. */
async function receive(
  { file, url, partial, onBytes, signal }: Omit<BlobOptions, 'folders'> & { partial: string },
  fetch: HubFetch,
): Promise<unknown> {
  const there = (await sizeOf(partial)) ?? 0
  if (there > file.size) await unlink(partial)
  let at = there > file.size ? 0 : there
  if (at === file.size && at > 0) return undefined
  const response = await fetch(url, at > 0 ? { headers: { range: `bytes=${at}-` } } : {})
  if (!response.ok) {
    await response.body?.cancel()
    throw new WaggleError('E_MODEL', `the hub answers ${response.status} for ${file.name}`, {
      hint: 'It may have been removed, or need HF_TOKEN. Try again later.',
    })
  }
  // A server without support for ranges starts from the beginning.
  if (response.status !== 206 || !response.headers.get('content-range')?.startsWith(`bytes ${at}-`)) at = 0
  const handle = await open(partial, at === 0 ? 'w' : 'r+')
  try {
    for await (const part of response.body ?? []) {
      signal?.throwIfAborted()
      if (at + part.length > file.size) {
        throw new WaggleError(
          'E_MODEL',
          `${file.name} is longer than the ${file.size} bytes that were promised`,
          {
            hint: 'The mirror is broken, or not to be trusted. Set HF_ENDPOINT to another.',
          },
        )
      }
      await handle.write(part, 0, part.length, at)
      at += part.length
      onBytes?.(part.length)
    }
    await handle.sync()
    return at === file.size ? undefined : new Error(`it ended after ${at} of ${file.size} bytes`)
  } catch (error) {
    if (error instanceof WaggleError || isDiskError(error)) throw error
    return error
  } finally {
    await handle.close()
  }
}

/** Disk errors name the system call of fs that failed; connection errors do not. */
function isDiskError(error: unknown): boolean {
  return ['write', 'fsync', 'open', 'ftruncate'].includes(String((error as { syscall?: unknown }).syscall))
}

async function verify(file: HubFile, path: string): Promise<void> {
  const { kind, hex } = file.hash
  const hash = createHash(kind === 'sha256' ? 'sha256' : 'sha1')
  // For a small file, Git's hash is the SHA-1 of this header and the content.
  if (kind === 'git') hash.update(`blob ${file.size}\0`)
  for await (const part of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(part as Buffer)
  if (hash.digest('hex') === hex) return
  await unlink(path)
  throw new WaggleError(
    'E_MODEL',
    `${file.name} is not what the hub promised: its ${kind === 'git' ? 'SHA-1' : 'SHA-256'} is another`,
    {
      hint: 'It was deleted. Try again; if it stays so, the mirror is broken or not to be trusted.',
    },
  )
}

/** Makes a relative link, as Hugging Face's tools do, or a copy if the file system has no links. */
async function link(blob: string, path: string): Promise<void> {
  const target = relative(join(path, '..'), blob)
  try {
    await symlink(target, path)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') {
      await unlink(path)
      return await link(blob, path)
    }
    if (!['EPERM', 'ENOSYS', 'ENOTSUP'].includes(errnoOf(error))) throw error
    await copyFile(blob, path)
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return await stat(path).then(
    ({ size }) => size,
    () => undefined,
  )
}
