// Stores libp2p's and the swarm's records of peers, in a LevelDB database separate from the node's store.

import { LevelDatastore } from 'datastore-level'
import type { Datastore } from 'interface-datastore'
import { Level } from 'level'
import { WaggleError } from '../../../protocol/errors.ts'

export type PeerDatastore = Datastore & { close(): Promise<void> }

const levelDb = (path: string) =>
  new Level<string, Uint8Array>(path, { keyEncoding: 'utf8', valueEncoding: 'view' })

/** The swarm's own records, such as bans, must survive a power cut. libp2p's are many and can be found again. */
const SYNCED = '/waggle/'

export async function openPeerDatastore(
  { path }: { path: string },
  {
    levelOf = levelDb,
    hasRoom = async () => true,
    onWritten = () => {},
  }: {
    /** Opens the database. Default: LevelDB; simulations use another. */
    levelOf?: typeof levelDb
    /** Whether the disk takes writes again; called after a failed write. */
    hasRoom?: () => Promise<boolean>
    /** Called after each write. */
    onWritten?: () => void
  } = {},
): Promise<PeerDatastore> {
  // Opened here, because datastore-level does not report why opening failed.
  const level = levelOf(path)
  try {
    await level.open()
  } catch (error) {
    const { cause = error } = error as { cause?: Error & { code?: string } }
    const { code, message } = cause as Error & { code?: string }
    const isLocked = code === 'LEVEL_LOCKED'
    throw new WaggleError(
      'E_STORE',
      `the list of peers ${path} cannot be opened: ${isLocked ? 'it is in use' : message}`,
      {
        hint: isLocked
          ? 'Another daemon runs on this home; stop it, or use another --home.'
          : 'Check the permissions of the folder and the room on its disk.',
        data: { path },
        cause,
      },
    )
  }
  const [put, del] = [level.put.bind(level), level.del.bind(level)]
  const batch = level.batch.bind(level) as (operations: unknown) => Promise<void>
  const { write, close } = oneByOne(level, { hasRoom, onWritten })
  level.put = ((key: string, value: Uint8Array) =>
    write(() => put(key, value, { sync: key.startsWith(SYNCED) } as object))) as typeof level.put
  level.del = ((key: string) => write(() => del(key))) as typeof level.del
  level.batch = ((operations: unknown) => write(() => batch(operations))) as typeof level.batch
  const datastore = new LevelDatastore(level)
  await datastore.open()
  return Object.assign(datastore, { close })
}

/**
 * Runs writes one at a time. After a failed write, LevelDB's log accepts further writes but loses them at the next
 * start, so the database is reopened before the next write. Until the disk has room for that, it can still be read.
 */
function oneByOne(
  level: { open(): Promise<void>; close(): Promise<void> },
  { hasRoom, onWritten }: { hasRoom(): Promise<boolean>; onWritten(): void },
) {
  let last: Promise<unknown> = Promise.resolve()
  let [isBroken, isClosed] = [false, false]
  return {
    write<Result>(run: () => Promise<Result>): Promise<Result> {
      const done = last.then(async () => {
        if (isBroken && !isClosed) {
          if (!(await hasRoom())) throw new Error('the disk does not take writes')
          await level.close()
          await level.open()
          isBroken = false
        }
        try {
          const result = await run()
          onWritten()
          return result
        } catch (error) {
          isBroken = true
          throw error
        }
      })
      last = done.catch(() => {})
      return done
    },
    async close(): Promise<void> {
      isClosed = true
      await last
      await level.close()
    },
  }
}
