// A backup of a home in one archive, which may be made while a node runs on it: its files are held as they are at one
// moment (freeze.ts), then written with a list of their SHA-256 as the last file.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { bytes as inWords } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { PARTIAL, writeFileWhole } from '../atomic.ts'
import { type Disk, explainErrno } from '../disk.ts'
import { watchedDisk } from '../watched-disk.ts'
import { type BackupManifest, FORMAT, MANIFEST, PRINTABLE } from './contents.ts'
import { type Frozen, freeze } from './freeze.ts'
import { type TarFile, tarOf } from './tar.ts'

interface BackupOptions {
  state: string
  config: string
  /** Of the archive. */
  file: string
  /** Of this Waggle. */
  program: string
}

interface BackupParts {
  disk: Disk
  clock(): number
  /** For a moment, until a database is still. */
  pause(): Promise<unknown>
  freeBytes(path: string): Promise<number | undefined>
  /** How far it is, in bytes. */
  at(done: number, total: number): void
}

export interface BackedUp {
  manifest: BackupManifest
  bytes: number
  /** Links and other things that are not files. */
  leftOut: string[]
}

/** Rejects with E_BACKUP if there is nothing to back up, or no room. */
export async function backUp(options: BackupOptions, parts: BackupParts): Promise<BackedUp> {
  const { state, config, file, program } = options
  const { disk, clock, freeBytes } = parts
  if (!(await disk.stat(state))) throw nothing(state)
  const into = join(state, `backup${PARTIAL}`)
  await rm(into, { recursive: true, force: true })
  try {
    const { files, leftOut, damaged } = await freeze({ state, config, into }, parts)
    if (!files.some(({ name }) => name === 'identity.key' || name.startsWith('checkpoints/')))
      throw nothing(state)
    const total = files.reduce((sum, { size }) => sum + size, 0)
    const room = await freeBytes(dirname(file))
    if (room !== undefined && room < total)
      throw new WaggleError(
        'E_BACKUP',
        `the backup takes ${inWords(total)}, and ${dirname(file)} has ${inWords(room)}`,
        { hint: 'Name a file on another disk.' },
      )
    const peerId = (await readFile(join(into, 'identity.id'), 'utf8').catch(() => '')).trim()
    const manifest: BackupManifest = {
      v: FORMAT,
      program,
      time: clock(),
      ...(PRINTABLE.test(peerId) && { peerId }),
      damaged,
      files: {},
    }
    const { bytes } = await writeFileWhole(
      { path: file, content: tarOf(contentOf(files, manifest), manifest) },
      { disk: watchedDisk(disk, (done) => parts.at(Math.min(done, total), total)) },
    )
    return { manifest, bytes, leftOut }
  } catch (error) {
    if (error instanceof WaggleError) throw error
    throw new WaggleError('E_BACKUP', `the backup ${file} cannot be written: ${explainErrno(error)}`, {
      hint: 'Nothing of the node has changed. Check the disk, the folder and its permissions.',
      cause: error,
    })
  } finally {
    await rm(into, { recursive: true, force: true })
  }
}

const nothing = (state: string): WaggleError =>
  new WaggleError('E_BACKUP', `there is no node in ${state}`, {
    hint: 'Give the --home of the node, and run the command as its user.',
  })

async function* contentOf(files: readonly Frozen[], manifest: BackupManifest): AsyncGenerator<TarFile> {
  for (const { name, path, size } of files) {
    const hash = createHash('sha256')
    yield { name, size, content: hashed(path, size, hash) }
    manifest.files[name] = { bytes: size, sha256: hash.digest('hex') }
  }
  const text = Buffer.from(JSON.stringify(manifest, undefined, 1))
  yield { name: MANIFEST, size: text.length, content: [text] }
}

/** The first `size` bytes, as the file may grow. */
async function* hashed(path: string, size: number, hash: ReturnType<typeof createHash>) {
  if (size === 0) return
  for await (const piece of createReadStream(path, { end: size - 1 }) as AsyncIterable<Buffer>) {
    hash.update(piece)
    yield piece
  }
}
