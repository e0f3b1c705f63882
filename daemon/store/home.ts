// A daemon's home on disk: usable, and this daemon's alone. The lock is the database's, which the operating system
// releases with the process, so a killed daemon leaves nothing to clean up. The lock file beside it holds nothing up;
// it only says whose home this is.

import { join } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { ensureDirectory, PARTIAL, remove, writeFileWhole } from './atomic.ts'
import { type Database, openDatabase } from './database.ts'
import { type Disk, errnoOf, explainErrno } from './disk.ts'
import type { Log } from './log.ts'

export interface HomeOptions {
  /** Where everything lies that the daemon writes. */
  directory: string
  /** The database's folder. */
  store: string
  /** The file that names the owner. */
  lock: string
}

export interface HomeParts {
  disk: Disk
  clock: () => number
  log: Log
  /** Who takes the home. */
  self: { pid: number; host: string }
}

export interface Owner {
  pid: number
  host: string
  /** ms since the epoch. */
  since: number
}

export interface Home {
  database: Database
  /** Closes the database and gives the home up. */
  release(): Promise<void>
}

export async function openHome(
  { directory, store, lock }: HomeOptions,
  { disk, clock, log, self }: HomeParts,
): Promise<Home> {
  await checkUsable(directory, disk)
  const previous = await readOwner(lock, { disk })
  const database = await openDatabase({ directory: store }, { log }).catch(async (error) => {
    if (!(error instanceof WaggleError && error.code === 'E_HOME_LOCKED')) throw error
    throw locked(directory, await readOwner(lock, { disk }), self.host, error)
  })
  try {
    if (previous) log('info', 'the last daemon on this home did not stop in an orderly way', { ...previous })
    const owner: Owner = { ...self, since: clock() }
    await writeFileWhole({ path: lock, content: `${JSON.stringify(owner)}\n` }, { disk })
  } catch (error) {
    await database.close()
    throw unusable(directory, error)
  }
  return {
    database,
    async release() {
      // While the database is still ours, so that this cannot be the next owner's.
      await remove(lock, { disk }).catch((error) =>
        log('warn', `the lock file stays: ${explainErrno(error)}`),
      )
      await database.close()
    },
  }
}

/** Whom the lock file names; undefined without one, or if it is unreadable. */
export async function readOwner(lock: string, { disk }: { disk: Disk }): Promise<Owner | undefined> {
  try {
    const file = await disk.open(lock, 'read')
    try {
      const text = new Uint8Array(1024)
      const { pid, host, since } = JSON.parse(
        Buffer.from(text.subarray(0, await file.read(text, 0))).toString(),
      )
      if (Number.isSafeInteger(pid) && typeof host === 'string' && Number.isFinite(since))
        return { pid, host, since }
    } finally {
      await file.close()
    }
  } catch {}
  return undefined
}

/** A folder that can be listed and written; made if it is not there. */
async function checkUsable(directory: string, disk: Disk): Promise<void> {
  try {
    await ensureDirectory(directory, { disk })
    await disk.readDirectory(directory)
    const probe = join(directory, `probe${PARTIAL}`)
    await remove(probe, { disk })
    await (await disk.open(probe, 'create')).close()
    await remove(probe, { disk })
  } catch (error) {
    throw unusable(directory, error)
  }
}

function unusable(directory: string, error: unknown): WaggleError {
  const hints: Record<string, string> = {
    ENOSPC: 'Make room on its disk, or give a folder on another one with --home DIR.',
    EROFS: 'Give a folder on a disk that can be written with --home DIR.',
    ENOTDIR: 'Give a folder with --home DIR.',
  }
  return new WaggleError('E_HOME', `the home ${directory} cannot be used: ${explainErrno(error)}`, {
    hint:
      hints[errnoOf(error)] ??
      'Make it readable and writable for this user, or give another with --home DIR.',
    data: { directory, errno: errnoOf(error) },
    cause: error,
  })
}

function locked(directory: string, owner: Owner | undefined, here: string, cause: unknown): WaggleError {
  const elsewhere = owner && owner.host !== here ? ` on ${owner.host}` : ''
  const who = owner ? `another daemon (pid ${owner.pid}${elsewhere})` : 'another process'
  return new WaggleError('E_HOME_LOCKED', `${who} uses the home ${directory}`, {
    hint: 'Look at it with `waggle status`, stop it with `waggle stop`, or give this one another --home DIR.',
    data: { directory, ...owner },
    cause,
  })
}
