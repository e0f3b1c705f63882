// Stores libp2p's and the swarm's records of peers, in a LevelDB database separate from the node's store.

import { LevelDatastore } from 'datastore-level'
import type { Datastore } from 'interface-datastore'
import { Level } from 'level'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Clock } from '../types.ts'
import { createWriteBehind } from './write-behind.ts'

export type PeerDatastore = Datastore & { close(): Promise<void> }

const levelDb = (path: string) =>
  new Level<string, Uint8Array>(path, { keyEncoding: 'utf8', valueEncoding: 'view' })

/**
 * The swarm's own records, such as bans, must survive a power cut. libp2p's are many and can be found again, so they are
 * written half a minute later.
 */
const SYNCED = '/waggle/'

const afterOf: Clock['after'] = (ms, run) => {
  const timer = setTimeout(run, ms).unref()
  return () => clearTimeout(timer)
}

export async function openPeerDatastore(
  { path }: { path: string },
  {
    levelOf = levelDb,
    hasRoom = async () => true,
    onWritten = () => {},
    after = afterOf,
  }: {
    /** Opens the database. Default: LevelDB; simulations use another. */
    levelOf?: typeof levelDb
    /** Whether the disk takes writes again; called after a failed write. */
    hasRoom?: () => Promise<boolean>
    /** Called after each write. */
    onWritten?: () => void
    after?: Clock['after']
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
  const { write, close } = oneByOne(level, { hasRoom, onWritten })
  const later = holdBack(level, { write, after })
  const datastore = new LevelDatastore(level)
  await datastore.open()
  const [query, queryKeys] = [datastore.query.bind(datastore), datastore.queryKeys.bind(datastore)]
  /** A query reads the database. On a full disk it does not find what is held. */
  const flushed = <Found>(find: () => AsyncIterable<Found>) =>
    (async function* () {
      await later.flush().catch(() => {})
      yield* find()
    })()
  return Object.assign(datastore, {
    query: ((...asked) => flushed(() => query(...asked) as never)) as typeof query,
    queryKeys: ((...asked) => flushed(() => queryKeys(...asked) as never)) as typeof queryKeys,
    async close() {
      await later.close()
      await close()
    },
  })
}

/** Makes the database write the swarm's own records at once, one by one, and libp2p's later. */
function holdBack(
  level: ReturnType<typeof levelDb>,
  { write, after }: Pick<ReturnType<typeof oneByOne>, 'write'> & { after: Clock['after'] },
) {
  const [get, put, del] = [level.get.bind(level), level.put.bind(level), level.del.bind(level)]
  const batch = level.batch.bind(level) as (operations: unknown) => Promise<void>
  const later = createWriteBehind(
    {},
    {
      after,
      write: (entries) =>
        write(() =>
          batch(entries.map(([key, value]) => (value ? { type: 'put', key, value } : { type: 'del', key }))),
        ),
    },
  )
  const set = async (key: string, value: Uint8Array | undefined): Promise<void> => {
    if (!key.startsWith(SYNCED)) return later.set(key, value)
    await write(() => (value ? put(key, value, { sync: true } as object) : del(key)))
  }
  level.get = (async (key: string) => {
    const held = later.held(key)
    return held ? held.value : get(key)
  }) as typeof level.get
  level.put = set as typeof level.put
  level.del = ((key: string) => set(key, undefined)) as typeof level.del
  level.batch = (async (operations: readonly { key: string; value?: Uint8Array }[]) => {
    for (const { key, value } of operations) await set(key, value)
  }) as unknown as typeof level.batch
  return later
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
