// Puts a backup into a home. Everything is unpacked beside its place and compared with the list in the archive before
// anything in the home changes. What was there is moved aside, not deleted.

import { createHash } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { ensureDirectory, PARTIAL, writeFileWhole } from '../atomic.ts'
import { faultsIn } from '../database/level-files.ts'
import { isInUse } from '../database/level-folder.ts'
import { type Disk, type DiskFile, explainErrno } from '../disk.ts'
import { watchedDisk } from '../watched-disk.ts'
import {
  type BackupManifest,
  CONFIG,
  DATABASES,
  FORMAT,
  IN_STATE,
  isContent,
  MANIFEST,
  manifestShape,
} from './contents.ts'
import { entriesOf, type TarEntry } from './tar.ts'

interface RestoreOptions {
  /** The archive. */
  file: string
  state: string
  config: string
  /** Move aside what is there. */
  replace: boolean
  /** Leave out the identity, so that the node becomes another peer. */
  withoutIdentity: boolean
}

interface RestoreParts {
  disk: Disk
  clock(): number
  /** How far it is, in bytes. */
  at(done: number, total: number): void
}

export interface Restored {
  manifest: BackupManifest
  /** Where the files went that were there; undefined if there were none. */
  aside?: string
}

const PIECE_BYTES = 1 << 20
const MAX_MANIFEST_BYTES = 64 << 20
const IDENTITY = /^identity\./

/**
 * Rejects with E_BACKUP or E_HOME_LOCKED; then the home is as it was, unless the disk failed while files were moved: the
 * error says where they are.
 */
export async function restoreBackup(
  { file, state, config, replace, withoutIdentity }: RestoreOptions,
  { disk, clock, at }: RestoreParts,
): Promise<Restored> {
  const into = join(state, `restore${PARTIAL}`)
  const aside = join(state, `replaced-${new Date(clock()).toISOString().replaceAll(':', '-')}`)
  let isChanging = false
  if (!(await disk.stat(file))) throw damaged(file, 'it does not exist')
  try {
    await checkFree({ state, config, replace }, { disk })
    await ensureDirectory(state, { disk })
    await rm(into, { recursive: true, force: true })
    const manifest = await unpack({ file, into }, { disk, at })
    // A node may have been started meanwhile.
    await checkFree({ state, config, replace }, { disk })
    isChanging = true
    const moved = await moveAside({ state, config, aside }, { disk })
    for (const name of IN_STATE)
      if (!(withoutIdentity && IDENTITY.test(name)) && (await disk.stat(join(into, name))))
        await disk.rename(join(into, name), join(state, name))
    await disk.syncDirectory(state)
    if (manifest.files[CONFIG]) await putConfig(join(into, CONFIG), config, disk)
    return { manifest, ...(moved && { aside }) }
  } catch (error) {
    if (error instanceof WaggleError) throw error
    throw damaged(file, explainErrno(error), {
      cause: error,
      hint: isChanging
        ? `Make room on the disk and try again${await whereItIs(aside, disk)}.`
        : 'Check the disk and the permissions of the home and of the archive. The home has not changed.',
    })
  } finally {
    await rm(into, { recursive: true, force: true })
  }
}

/** For a hint; empty if nothing was moved. */
async function whereItIs(aside: string, disk: Disk): Promise<string> {
  const moved = await disk.readDirectory(aside).catch(() => [])
  return moved.length > 0 ? `; what was in the home is in ${aside}` : ''
}

function damaged(file: string, why: string, more: { hint?: string; cause?: unknown } = {}): WaggleError {
  return new WaggleError('E_BACKUP', `${file} cannot be restored: ${why}`, {
    hint: 'Take another backup, or another copy of this one. The home has not changed.',
    ...more,
  })
}

async function checkFree(
  { state, config, replace }: Pick<RestoreOptions, 'state' | 'config' | 'replace'>,
  { disk }: { disk: Disk },
): Promise<void> {
  const store = join(state, 'store')
  if ((await disk.stat(store).catch(() => undefined)) && (await isInUse(store)))
    throw new WaggleError('E_HOME_LOCKED', `a node runs on ${state}`, {
      hint: 'Stop it with `waggle stop`, or restore into another --home DIR.',
    })
  const there = await presentIn({ state, config }, disk)
  if (there.length > 0 && !replace)
    throw new WaggleError('E_BACKUP', `${state} has a node already: ${there.slice(0, 4).join(', ')}`, {
      hint: 'Restore into another --home DIR, or add --force: it moves these files into a folder beside them.',
    })
}

async function presentIn(
  { state, config }: { state: string; config: string },
  disk: Disk,
): Promise<string[]> {
  const paths = [...IN_STATE.map((name) => [name, join(state, name)] as const), [CONFIG, config] as const]
  const facts = await Promise.all(paths.map(([, path]) => disk.stat(path).catch(() => undefined)))
  return paths.flatMap(([name], i) => (facts[i] ? [name] : []))
}

/** Whether anything was there. */
async function moveAside(
  { state, config, aside }: { state: string; config: string; aside: string },
  { disk }: { disk: Disk },
): Promise<boolean> {
  const there = await presentIn({ state, config }, disk)
  if (there.length === 0) return false
  await disk.makeDirectory(aside)
  for (const name of there) {
    if (name !== CONFIG) await disk.rename(join(state, name), join(aside, name))
    else {
      // May be on another disk.
      await writeFileWhole({ path: join(aside, CONFIG), content: await contentOf(config, disk) }, { disk })
      await disk.unlink(config)
    }
  }
  await disk.syncDirectory(aside)
  return true
}

async function putConfig(from: string, config: string, disk: Disk): Promise<void> {
  await ensureDirectory(dirname(config), { disk })
  await writeFileWhole({ path: config, content: await contentOf(from, disk) }, { disk })
}

async function contentOf(path: string, disk: Disk): Promise<Uint8Array> {
  const real = await disk.realPath(path)
  const content = new Uint8Array((await disk.stat(real))?.size ?? 0)
  const file = await disk.open(real, 'read')
  await file.read(content, 0).finally(() => file.close())
  return content
}

/** Unpacks an archive, and throws unless it is whole and as its list says. */
async function unpack(
  { file, into }: { file: string; into: string },
  { disk, at }: Pick<RestoreParts, 'disk' | 'at'>,
): Promise<BackupManifest> {
  const total = (await disk.stat(file))?.size ?? 0
  const archive = await watchedDisk(disk, (done) => at(Math.min(done, total), total)).open(file, 'read')
  const found: BackupManifest['files'] = Object.create(null)
  let manifest: BackupManifest | undefined
  try {
    for await (const entry of entriesOf((piece, position) => archive.read(piece, position))) {
      const { name } = entry
      if (manifest) throw new Error(`${name} follows its list`)
      if (name === MANIFEST) manifest = await readManifest(entry, archive)
      else if (!isContent(name)) throw new Error(`"${name.slice(0, 100)}" is no file of a node`)
      else if (name in found) throw new Error(`${name} is in it twice`)
      else found[name] = await unpackFile(entry, { archive, path: join(into, name), disk })
    }
  } finally {
    await archive.close()
  }
  await syncFolders(Object.keys(found), into, disk)
  if (!manifest) throw new Error('it has no list of its files')
  for (const name of new Set([...Object.keys(manifest.files), ...Object.keys(found)])) {
    const [expected, got] = [manifest.files[name], found[name]]
    if (!expected || !got) throw new Error(`${name} is missing${expected ? '' : ' in its list'}`)
    if (got.bytes !== expected.bytes || got.sha256 !== expected.sha256) throw new Error(`${name} is damaged`)
  }
  for (const name of DATABASES) {
    const { index, tables } = await faultsIn(join(into, name), {})
    const fault = index ?? tables[0]
    if (fault !== undefined && !manifest.damaged.includes(name)) throw new Error(`${name}: ${fault}`)
  }
  return manifest
}

/** Makes the names of these files durable. */
async function syncFolders(names: readonly string[], into: string, disk: Disk): Promise<void> {
  const folders = new Set<string>()
  for (const name of names)
    for (let folder = dirname(name); folder !== '.'; folder = dirname(folder)) folders.add(folder)
  for (const folder of ['.', ...folders]) await disk.syncDirectory(join(into, folder))
}

async function unpackFile(
  { size, at }: TarEntry,
  { archive, path, disk }: { archive: DiskFile; path: string; disk: Disk },
): Promise<{ bytes: number; sha256: string }> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const hash = createHash('sha256')
  const file = await disk.open(path, 'create')
  try {
    for (let done = 0; done < size; ) {
      const piece = new Uint8Array(Math.min(PIECE_BYTES, size - done))
      if ((await archive.read(piece, at + done)) < piece.length) throw new Error('it ends too early')
      hash.update(piece)
      await file.append(piece)
      done += piece.length
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return { bytes: size, sha256: hash.digest('hex') }
}

async function readManifest({ size, at }: TarEntry, archive: DiskFile): Promise<BackupManifest> {
  if (size > MAX_MANIFEST_BYTES) throw new Error('its list is too large')
  const text = new Uint8Array(size)
  if ((await archive.read(text, at)) < size) throw new Error('it ends too early')
  let given: unknown
  try {
    given = JSON.parse(Buffer.from(text).toString())
  } catch {
    throw new Error('its list is damaged')
  }
  const version = (given as { v?: unknown } | null)?.v
  if (typeof version === 'number' && version !== FORMAT)
    throw new Error(`it has format ${version}, and this Waggle reads ${FORMAT}: update it`)
  const { data } = manifestShape.safeParse(given)
  if (!data) throw new Error('its list is damaged')
  return data
}
