// Holds a home's files as they are at one moment while a node runs on it: hard links (copies, where the file system has
// none) in a folder of their own, so that nothing that the node deletes is gone before it is in the archive.
//
// Of files that only grow, such as logs and runs, the bytes that are there now are taken. A checkpoint's folder is whole
// from the moment it has its name. A LevelDB is more: see `freezeDatabase`.

import { copyFile, link, mkdir, readdir, readFile, realpath, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PARTIAL } from '../atomic.ts'
import { faultsIn } from '../database/level-files.ts'
import { errnoOf } from '../disk.ts'
import { CONFIG, DATABASES, FILES, FOLDERS } from './contents.ts'

export interface Frozen {
  /** In the archive, with slashes. */
  name: string
  path: string
  size: number
}

interface Found {
  files: Frozen[]
  /** Links, sockets and other things that are not files or folders. */
  leftOut: string[]
  /** Databases with tables that cannot be read. */
  damaged: Array<(typeof DATABASES)[number]>
}

/** `into` must not exist, and be on the disk of `state`. */
export async function freeze(
  { state, config, into }: { state: string; config: string; into: string },
  { pause }: { pause: () => Promise<unknown> },
): Promise<Found> {
  const found: Found = { files: [], leftOut: [], damaged: [] }
  const hold = (path: string, name: string): Promise<Frozen | undefined> =>
    held({ path, name, at: join(into, name) })
  for (const folder of FOLDERS) {
    // Newest first: the oldest checkpoint is what a node deletes.
    for (const { name, ...facts } of (await entriesIn(join(state, folder))).reverse()) {
      const top = `${folder}/${name}`
      if (name.endsWith(PARTIAL)) continue
      const tree = facts.isFolder ? await walk(join(state, top), top) : { files: [top], leftOut: [] }
      found.leftOut.push(...(facts.isLink ? [top] : tree.leftOut))
      if (facts.isLink) continue
      const files = await Promise.all(tree.files.map((one) => hold(join(state, one), one)))
      // One that was deleted meanwhile is of no use.
      const isWhole = !files.includes(undefined) && tree.files.includes(`${top}/manifest.json`)
      if (folder !== 'checkpoints' || isWhole) found.files.push(...present(files))
    }
  }
  for (const name of DATABASES) {
    const { files, isDamaged } = await freezeDatabase(
      { directory: join(state, name), name, into: join(into, name) },
      { pause },
    )
    found.files.push(...files)
    if (isDamaged) found.damaged.push(name)
  }
  const last = await Promise.all([
    ...FILES.map((name) => hold(join(state, name), name)),
    hold(config, CONFIG),
  ])
  found.files.push(...present(last))
  return found
}

const present = (files: ReadonlyArray<Frozen | undefined>): Frozen[] =>
  files.filter((one) => one !== undefined)

/** Follows links, as for a config that is kept elsewhere. Undefined if it is not there. */
async function held({ path, name, at }: { path: string; name: string; at: string }) {
  await mkdir(dirname(at), { recursive: true, mode: 0o700 })
  try {
    const real = await realpath(path)
    // Hard links across disks, and to files that others own, are not allowed everywhere.
    await link(real, at).catch((error) =>
      errnoOf(error) === 'ENOENT' ? Promise.reject(error) : copyFile(real, at),
    )
    return { name, path: at, size: (await stat(at)).size }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** In the order of their names; none if the folder is missing. */
async function entriesIn(
  folder: string,
): Promise<Array<{ name: string; isFolder: boolean; isLink: boolean }>> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  })
  return entries
    .map((entry) => ({
      name: entry.name,
      isFolder: entry.isDirectory(),
      isLink: !entry.isDirectory() && !entry.isFile(),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** By their names in the archive. */
async function walk(path: string, name: string): Promise<{ files: string[]; leftOut: string[] }> {
  const tree = { files: [] as string[], leftOut: [] as string[] }
  for (const entry of await entriesIn(path)) {
    const inner = `${name}/${entry.name}`
    if (entry.isLink) tree.leftOut.push(inner)
    else if (!entry.isFolder) tree.files.push(inner)
    else {
      const { files, leftOut } = await walk(join(path, entry.name), inner)
      tree.files.push(...files)
      tree.leftOut.push(...leftOut)
    }
  }
  return tree
}

const ATTEMPTS = 50
const CONTENT = /^\d+\.(log|ldb|sst)$/

/**
 * A LevelDB, with a process that writes to it. Tables never change, logs and the MANIFEST only grow, and the MANIFEST
 * grows whenever tables take the place of others or of a log. So what is there while it stays the same is what a killed
 * process would leave; otherwise again.
 */
async function freezeDatabase(
  { directory, name, into }: { directory: string; name: string; into: string },
  { pause }: { pause: () => Promise<unknown> },
): Promise<{ files: Frozen[]; isDamaged: boolean }> {
  for (let attempt = 1; ; attempt++) {
    const before = await manifestOf(directory)
    const names = (await entriesIn(directory)).map((entry) => entry.name).filter((one) => CONTENT.test(one))
    if (!before && names.length === 0) return { files: [], isDamaged: false }
    await rm(into, { recursive: true, force: true })
    const files = await Promise.all(
      [...(before ? ['CURRENT', before.name] : []), ...names].map((one) =>
        held({ path: join(directory, one), name: `${name}/${one}`, at: join(into, one) }),
      ),
    )
    const after = await manifestOf(directory)
    const isStill = after?.name === before?.name && after?.size === before?.size && !files.includes(undefined)
    // A table that is being written belongs to no MANIFEST yet, so it is no fault.
    const { index, tables } = await faultsIn(into, {})
    const isWhole = isStill && index === undefined && tables.length === 0
    if (isWhole || (isStill && attempt >= ATTEMPTS)) return { files: present(files), isDamaged: !isWhole }
    if (attempt >= 2 * ATTEMPTS) throw new Error(`${directory} changes all the time`)
    await pause()
  }
}

/** The MANIFEST that counts, and its size; undefined if there is none. */
async function manifestOf(directory: string): Promise<{ name: string; size: number } | undefined> {
  try {
    const name = (await readFile(join(directory, 'CURRENT'), 'latin1')).trim()
    return { name, size: (await stat(join(directory, name))).size }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}
