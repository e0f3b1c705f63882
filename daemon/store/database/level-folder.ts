// Opens a LevelDB folder so that damage neither prevents the start nor goes unnoticed. Its files are checked before
// LevelDB reads them (level-files.ts). An unreadable folder is moved aside; then a copy is repaired, or the database
// starts empty. What a killed process had written must still be there: after each write, the sizes of the files that
// grow are noted in a file beside the folder.

import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { cp, link, mkdir, readdir, readFile, rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { Level } from 'level'
import type { Log } from '../log.ts'
import { type Faults, faultsIn, type Sizes, sizesIn } from './level-files.ts'

/** An open database. The caller creates it, since there are several layers over LevelDB. */
interface LevelHandle {
  /** Reads everything, so that damage is found now. */
  readAll(): Promise<void>
  close(): Promise<unknown>
}

interface LevelFolderOptions {
  directory: string
  /** Name for messages, such as "the list of peers". */
  name: string
  /** For messages: what may be lost after damage, and what is safe. */
  loss: string
}

interface LevelFolderParts<Handle> {
  /** `onWritten` must be called after each write to the database. */
  open(onWritten: () => void): Promise<Handle>
  log: Log
}

export async function openLevelFolder<Handle extends LevelHandle>(
  { directory, name, loss }: LevelFolderOptions,
  { open, log }: LevelFolderParts<Handle>,
): Promise<Handle> {
  const note = (): void => noteSizes(directory)

  async function openWhole(): Promise<Handle> {
    const handle = await open(note)
    try {
      await handle.readAll()
    } catch (error) {
      await handle.close()
      throw error
    }
    return handle
  }

  async function openMended(reason: string, faults: Faults): Promise<Handle> {
    const aside = await moveAside(directory)
    const tell = (what: string): void =>
      log('error', `${name} was damaged: ${what}. ${loss} The damaged one is in ${aside}.`, { reason })
    try {
      await cp(aside, directory, { recursive: true })
      await withoutFaults(directory, faults)
      await (Level as unknown as { repair(path: string): Promise<void> }).repair(directory)
      const handle = await openWhole()
      tell('what could be read of it was kept')
      return handle
    } catch {
      await rm(directory, { recursive: true, force: true })
      const handle = await open(note)
      tell('it starts empty')
      return handle
    }
  }

  const faults = await faultsIn(directory, await readSizes(directory))
  const fault = faults.index ?? faults.tables[0]
  let handle: Handle
  // Another process may be writing these files.
  if (fault !== undefined && !(await isInUse(directory)))
    handle = await openMended(faults.index ?? `its table ${fault} is damaged`, faults)
  else {
    try {
      handle = await openWhole()
      for (const { unread, gone } of faults.logs)
        log(
          'error',
          gone > 0
            ? `${name} is older than it was: what was written last is gone. ${loss}`
            : `${name} was damaged: up to ${unread} bytes of its newest part could not be read. ${loss}`,
          { directory, bytes: unread + gone },
        )
    } catch (error) {
      if (!isDamage(error)) throw error
      handle = await openMended(reasonOf(error), faults)
    }
  }
  note()
  // Older versions kept a counter there.
  await rm(`${directory}.seal`, { force: true })
  return handle
}

const sizeFile = (directory: string): string => `${directory}.sizes`
/** The note has a fixed length, so that it is replaced by a single write, which a kill cannot cut. */
const NOTE_BYTES = 512

/**
 * Notes the sizes of the folder's files. Synchronous, so that no write is under way meanwhile. The note is not made
 * durable: after a power cut an older one is there, or none, and less damage is noticed.
 */
function noteSizes(directory: string): void {
  try {
    const text = JSON.stringify(sizesIn(directory))
    const file = openSync(sizeFile(directory), constants.O_WRONLY | constants.O_CREAT, 0o600)
    try {
      writeSync(file, text.length <= NOTE_BYTES ? text.padEnd(NOTE_BYTES) : '{}'.padEnd(NOTE_BYTES), 0)
    } finally {
      closeSync(file)
    }
  } catch {
    // On a full disk, damage to what is written now goes unnoticed. The writer reports the disk.
  }
}

async function readSizes(directory: string): Promise<Sizes> {
  try {
    const all = JSON.parse(await readFile(sizeFile(directory), 'utf8')) as Record<string, unknown>
    return Object.fromEntries(
      Object.entries(all).filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])),
    )
  } catch {
    return {}
  }
}

/** LevelDB's repair would stop at damaged tables, and does not check the records of logs. */
async function withoutFaults(directory: string, { tables, unfinished, logs }: Faults): Promise<void> {
  for (const table of [...tables, ...unfinished]) await rm(join(directory, table))
  for (const { name, intact, unread } of logs) if (unread > 0) await truncate(join(directory, name), intact)
}

/** Whether another process has the database open: LevelDB locks the file LOCK, whatever folder it is in. */
export async function isInUse(directory: string): Promise<boolean> {
  const probe = `${directory}.probe`
  await rm(probe, { recursive: true, force: true })
  await mkdir(probe)
  try {
    await link(join(directory, 'LOCK'), join(probe, 'LOCK'))
    const level = new Level(probe)
    await level.open()
    await level.close()
    return false
  } catch (error) {
    return isLocked(error)
  } finally {
    await rm(probe, { recursive: true, force: true })
  }
}

function isLocked(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: string; cause?: unknown }
  return code === 'LEVEL_LOCKED' || (cause !== undefined && isLocked(cause))
}

/** True if the content is damaged; false if, say, the disk is full or the folder is locked or unreadable. */
function isDamage(error: unknown): boolean {
  const { code, message, cause, data } = (error ?? {}) as {
    code?: string
    message?: string
    cause?: unknown
    data?: { code?: string }
  }
  if (code === 'LEVEL_CORRUPTION' || data?.code === 'LEVEL_CORRUPTION') return true
  if (/IO error: .*: (No such file or|Is a|Not a) directory|Corruption: /.test(message ?? '')) return true
  return cause !== undefined && isDamage(cause)
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? reasonOf(cause) : message
}

async function moveAside(directory: string): Promise<string> {
  for (let number = 1; ; number++) {
    const aside = `${directory}.damaged-${number}`
    const isTaken = (await readdir(aside).catch(() => undefined)) !== undefined
    if (isTaken) continue
    await rename(directory, aside)
    return aside
  }
}
