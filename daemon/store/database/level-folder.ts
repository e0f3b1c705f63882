// Opens a LevelDB folder so that damage neither prevents the start nor goes unnoticed. An unreadable folder is moved
// aside; then a copy is repaired, or the database starts empty. LevelDB silently skips damaged parts of its log, and a
// missing log. The first is detected from LevelDB's own LOG file, the second by a counter that is kept in the folder
// and in a file beside it.

import { cp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Level } from 'level'
import { writeFileWhole } from '../atomic.ts'
import type { Disk } from '../disk.ts'
import type { Log } from '../log.ts'

/** An open database. The caller creates it, since there are several layers over LevelDB. */
export interface LevelHandle {
  /** Reads everything, so that damage is found now. */
  readAll(): Promise<void>
  /** The counter, if the folder has one. */
  mark(): Promise<number | undefined>
  setMark(count: number): Promise<void>
  close(): Promise<unknown>
}

export interface LevelFolderOptions {
  directory: string
  /** Name for messages, such as "the list of peers". */
  name: string
  /** For messages: what may be lost after damage, and what is safe. */
  loss: string
}

export interface LevelFolder<Handle> {
  handle: Handle
  /** Increments the counter, so that the next start notices if data written until now was lost. */
  seal(): Promise<void>
}

export async function openLevelFolder<Handle extends LevelHandle>(
  { directory, name, loss }: LevelFolderOptions,
  { open, disk, log }: { open(): Promise<Handle>; disk: Disk; log: Log },
): Promise<LevelFolder<Handle>> {
  const sealFile = `${directory}.seal`

  async function openWhole(): Promise<Handle> {
    const handle = await open()
    try {
      await handle.readAll()
    } catch (error) {
      await handle.close()
      throw error
    }
    return handle
  }

  async function openMended(damage: unknown): Promise<Handle> {
    const aside = await moveAside(directory)
    const note = (what: string): void =>
      log('error', `${name} was damaged: ${what}. ${loss} The damaged one is in ${aside}.`, {
        reason: reasonOf(damage),
      })
    try {
      await cp(aside, directory, { recursive: true })
      await (Level as unknown as { repair(path: string): Promise<void> }).repair(directory)
      const handle = await openWhole()
      note('what could be read of it was kept')
      return handle
    } catch {
      await rm(directory, { recursive: true, force: true })
      const handle = await open()
      note('it starts empty')
      return handle
    }
  }

  const sealed = await readCount(sealFile)
  let isMended = false
  let handle: Handle
  try {
    if (await isHeadless(directory)) throw new Error('its file CURRENT is missing')
    handle = await openWhole()
  } catch (error) {
    if (!isDamage(error)) throw error
    handle = await openMended(error)
    isMended = true
  }
  let count = (await handle.mark()) ?? 0
  const skipped = await skippedIn(join(directory, 'LOG'))
  if (!isMended && skipped > 0)
    log('error', `${name} was damaged: ${skipped} bytes of its newest part could not be read. ${loss}`, {
      directory,
    })
  else if (!isMended && count < sealed)
    log('error', `${name} is older than it was: what was written last is gone. ${loss}`, { directory })
  count = Math.max(count, sealed)

  const seal = async (): Promise<void> => {
    count++
    await handle.setMark(count)
    await writeFileWhole({ path: sealFile, content: `${count}\n` }, { disk })
  }
  await seal()
  return { handle, seal }
}

/** LevelDB treats a folder without CURRENT as new, and would delete its content. */
async function isHeadless(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => [] as string[])
  return !names.includes('CURRENT') && names.some((name) => /^\d+\.(ldb|log|sst)$/.test(name))
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
  if (/CURRENT is missing|MANIFEST-\d+: No such file|Corruption: /.test(message ?? '')) return true
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

/** Number of bytes that LevelDB reports as dropped from its log. It starts a new LOG file each time it opens. */
async function skippedIn(notes: string): Promise<number> {
  const text = await readFile(notes, 'utf8').catch(() => '')
  let bytes = 0
  for (const [, dropped] of text.matchAll(/\.log: dropping (\d+) bytes/g)) bytes += Number(dropped)
  return bytes
}

async function readCount(file: string): Promise<number> {
  const count = Number(await readFile(file, 'utf8').catch(() => '0'))
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
