// Opens and locks a daemon's home. The database's lock is the one that counts: the operating system releases it with
// the process, so a killed daemon leaves nothing to clean up. The lock file only names the owner.

import { join } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { ensureDirectory, PARTIAL, remove, writeFileWhole } from './atomic.ts'
import { type Database, openDatabase } from './database/database.ts'
import { openLevelFolder } from './database/level-folder.ts'
import { type Disk, errnoOf, explainErrno } from './disk.ts'
import type { Log } from './log.ts'

interface HomeOptions {
  /** Directory for everything that the daemon writes. */
  directory: string
  /** The database's folder. */
  store: string
  /** The file that names the owner. */
  lock: string
}

interface HomeParts {
  disk: Disk
  clock: () => number
  log: Log
  /** The new owner. */
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
  /** Closes the database and releases the lock. */
  release(): Promise<void>
}

export async function openHome(
  { directory, store, lock }: HomeOptions,
  { disk, clock, log, self }: HomeParts,
): Promise<Home> {
  await checkUsable(directory, disk)
  const previous = await readOwner(lock, { disk })
  const database = await openStore(store, { log }).catch(async (error) => {
    if (!(error instanceof WaggleError && error.code === 'E_HOME_LOCKED')) throw error
    throw locked(directory, await readOwner(lock, { disk }), self.host, error)
  })
  try {
    if (previous) log('info', 'the previous daemon on this home did not shut down cleanly', { ...previous })
    const owner: Owner = { ...self, since: clock() }
    await writeFileWhole({ path: lock, content: `${JSON.stringify(owner)}\n` }, { disk })
  } catch (error) {
    await database.close()
    throw unusable(directory, error)
  }
  return {
    database,
    async release() {
      // Removed before the database closes, since after that it could be the next owner's file.
      await remove(lock, { disk }).catch((error) =>
        log('warn', `the lock file could not be removed: ${explainErrno(error)}`),
      )
      await database.close()
    },
  }
}

/** Damage does not prevent the node from starting, since waiting rollouts and curves can be replaced. */
function openStore(directory: string, { log }: { log: Log }): Promise<Database> {
  return openLevelFolder(
    {
      directory,
      name: `the database of rollouts and curves (${directory})`,
      loss: 'Waiting rollouts and parts of the curves may be lost; weights, identity and peers are stored elsewhere.',
    },
    { open: (onWritten) => openDatabase({ directory }, { log, onWritten }), log },
  )
}

/** The owner named in the lock file; undefined if there is no file or it is unreadable. */
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

/** Creates the folder if needed, and checks that it can be listed and written. */
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
    ENOSPC: 'Free some space, or use --home DIR on another disk.',
    EROFS: 'Use --home DIR on a writable disk.',
    ENOTDIR: 'Use --home DIR with a folder.',
  }
  return new WaggleError('E_HOME', `the home ${directory} cannot be used: ${explainErrno(error)}`, {
    hint: hints[errnoOf(error)] ?? 'Make it readable and writable for this user, or use another --home DIR.',
    data: { directory, errno: errnoOf(error) },
    cause: error,
  })
}

function locked(directory: string, owner: Owner | undefined, here: string, cause: unknown): WaggleError {
  const elsewhere = owner && owner.host !== here ? ` on ${owner.host}` : ''
  const who = owner ? `another daemon (pid ${owner.pid}${elsewhere})` : 'another process'
  return new WaggleError('E_HOME_LOCKED', `${who} uses the home ${directory}`, {
    hint: 'Check it with `waggle status`, stop it with `waggle stop`, or use another --home DIR.',
    data: { directory, ...owner },
    cause,
  })
}
