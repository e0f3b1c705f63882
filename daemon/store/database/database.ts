// The node's database: one LevelDB store divided into namespaces, with text keys and byte values. Only one process can
// open it, which is the lock on the home: the operating system releases it when the process dies, however it dies.

import { Level } from 'level'
import type { Log } from '../log.ts'
import { type Migration, migrate } from './migrations.ts'
import { cannotWrite, openError, readError } from './store-errors.ts'
import { createWriteQueue, type WriteQueueOptions, type Writes } from './write-queue.ts'

interface DatabaseOptions extends WriteQueueOptions {
  directory: string
  /** Migrations, oldest first; their number is this program's schema version. */
  migrations?: readonly Migration[]
}

/** The parts of LevelDB that the database needs. */
export interface LevelStore {
  open(): Promise<void>
  close(): Promise<void>
  get(key: string): Promise<Uint8Array | undefined>
  /** Atomic. With `sync`, this batch and all earlier ones are durable when it resolves. */
  batch(
    operations: ReadonlyArray<{ type: 'put'; key: string; value: Uint8Array } | { type: 'del'; key: string }>,
    options: { sync: boolean },
  ): Promise<void>
  iterator(range: { gte?: string; lt?: string; reverse?: boolean; limit?: number }): LevelIterator
  compactRange(start: string, end: string): Promise<void>
}

interface LevelIterator extends AsyncIterable<[string, Uint8Array]> {
  /** The next entries, at most `size`; none at the end. */
  nextv(size: number): Promise<Array<[string, Uint8Array]>>
  close(): Promise<void>
}

interface DatabaseParts {
  log: Log
  /** Default: LevelDB. */
  levelOf?: ((directory: string) => LevelStore) | undefined
  /** Called after each write. */
  onWritten?(): void
  /** Runs something later; returns a function that cancels it. */
  later?: (run: () => void, ms: number) => () => void
}

export interface Range {
  gte?: string
  lt?: string
  reverse?: boolean
  limit?: number
}

export interface Namespace {
  get(key: string): Promise<Uint8Array | undefined>
  /** Durable when it resolves. */
  put(key: string, value: Uint8Array): Promise<void>
  del(key: string): Promise<void>
  /** Returns at once; durable within milliseconds, or after flush(). `undefined` deletes. Never throws. */
  write(key: string, value: Uint8Array | undefined): void
  /** In key order, or reversed. */
  entries(range?: Range): AsyncIterable<[key: string, value: Uint8Array]>
}

export interface Database {
  namespace(name: string): Namespace
  flush(): Promise<void>
  /** Rejects with E_STORE if any of it cannot be read. */
  readAll(): Promise<void>
  /** Frees the space of deleted entries, which LevelDB itself does only much later. */
  compact(namespace: string): Promise<void>
  /** Why writes are failing now; undefined if they work. */
  readonly failure: unknown
  /** Writes what is pending, then closes. If the write fails, it still closes, then rejects. */
  close(): Promise<void>
}

const NAMESPACE = /^[a-z][a-z0-9-]{0,31}$/
/** Separates namespace and key. Not allowed in names. END is the next character. */
const SEPARATOR = '!'
const END = '"'

/** Entries per read; reading one at a time is several times slower. */
const AT_ONCE = 256

const realLater = (run: () => void, ms: number) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** The types of `level` leave out LevelDB's own features, such as synced writes. */
const levelDb = (directory: string): LevelStore =>
  new Level(directory, { keyEncoding: 'utf8', valueEncoding: 'view' }) as unknown as LevelStore

export async function openDatabase(
  { directory, migrations = [], ...queueOptions }: DatabaseOptions,
  { log, later = realLater, levelOf = levelDb, onWritten }: DatabaseParts,
): Promise<Database> {
  const level = levelOf(directory)
  const open = () =>
    level.open().catch((error) => {
      throw openError(directory, error)
    })
  const write = async (writes: Writes) => {
    const operations = [...writes].map(([key, value]) =>
      value === undefined ? ({ type: 'del', key } as const) : ({ type: 'put', key, value } as const),
    )
    await level.batch(operations, { sync: true }).catch((error) => {
      throw cannotWrite(directory, error)
    })
    onWritten?.()
  }
  // After a failed write, LevelDB's log accepts nothing more. Reopening reads the log and truncates it correctly.
  const recover = async () => {
    await level.close()
    await open()
  }

  async function* entries(prefix: string, { gte = '', lt, reverse = false, limit = -1 }: Range) {
    await queue.flush()
    const end = lt === undefined ? prefix.slice(0, -1) + END : prefix + lt
    const start = () => level.iterator({ gte: prefix + gte, lt: end, reverse, limit })
    let iterator: LevelIterator | undefined
    try {
      iterator = start()
      for (let some = await iterator.nextv(AT_ONCE); some.length; some = await iterator.nextv(AT_ONCE)) {
        for (const [key, value] of some) yield [key.slice(prefix.length), value] as [string, Uint8Array]
      }
    } catch (error) {
      throw readError(directory, error)
    } finally {
      await iterator?.close()
    }
  }

  await open()
  try {
    await migrate({ directory, migrations }, { level, write, log })
  } catch (error) {
    await level.close()
    throw error
  }
  const queue = createWriteQueue(queueOptions, { write, recover, later, log })

  return {
    namespace(name) {
      if (!NAMESPACE.test(name)) throw new RangeError(`${name} is no name for a namespace`)
      const prefix = name + SEPARATOR
      return {
        async get(key) {
          const waiting = queue.waiting(prefix + key)
          if (waiting) return waiting[0]
          return await level.get(prefix + key).catch((error) => {
            throw readError(directory, error)
          })
        },
        async put(key, value) {
          queue.write(prefix + key, value)
          await queue.flush()
        },
        async del(key) {
          queue.write(prefix + key, undefined)
          await queue.flush()
        },
        write: (key, value) => queue.write(prefix + key, value),
        entries: (range = {}) => entries(prefix, range),
      }
    },
    flush: () => queue.flush(),
    async readAll() {
      // The separator sorts before all names, so this is every key.
      for await (const _ of entries('', { lt: '\uffff' }));
    },
    async compact(name) {
      await level.compactRange(name + SEPARATOR, name + END)
    },
    get failure() {
      return queue.failure
    },
    async close() {
      try {
        await queue.close()
      } finally {
        await level.close()
      }
    },
  }
}
