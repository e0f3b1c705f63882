// The node's database: one level store, cut into namespaces of byte values under text keys. Knows nothing of groups or
// peers. Only one process can have it open, which is what locks a home: the operating system lets go of that lock when
// a process dies, however it dies.

import { Level } from 'level'
import type { Log } from './log.ts'
import { type Migration, migrate } from './migrations.ts'
import { cannotWrite, openError, readError } from './store-errors.ts'
import { createWriteQueue, type WriteQueueOptions, type Writes } from './write-queue.ts'

export interface DatabaseOptions extends WriteQueueOptions {
  directory: string
  /** Steps from older schemas, oldest first; their number is this program's schema version. */
  migrations?: readonly Migration[]
}

export interface DatabaseParts {
  log: Log
  /** Runs something later; returns how to call it off. */
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
  /** Durable when it returns. */
  put(key: string, value: Uint8Array): Promise<void>
  del(key: string): Promise<void>
  /** Not waited for: durable in milliseconds, or after flush(). undefined deletes. Never throws. */
  write(key: string, value: Uint8Array | undefined): void
  /** In the order of keys, or its reverse. */
  entries(range?: Range): AsyncIterable<[key: string, value: Uint8Array]>
}

export interface Database {
  namespace(name: string): Namespace
  flush(): Promise<void>
  /** Gives the space of deleted entries back; level does not do so by itself for a long time. */
  compact(namespace: string): Promise<void>
  /** Why nothing can be written at the moment; undefined if all is well. */
  readonly failure: unknown
  /** Writes what waits, and closes; closes too if that fails, and then says so. */
  close(): Promise<void>
}

const NAMESPACE = /^[a-z][a-z0-9-]{0,31}$/
/** Between a namespace and a key; no name has it, and END is the next character. */
const SEPARATOR = '!'
const END = '"'

/** Entries read in one go; one at a time costs several times as much. */
const AT_ONCE = 256

const realLater = (run: () => void, ms: number) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

export async function openDatabase(
  { directory, migrations = [], ...queueOptions }: DatabaseOptions,
  { log, later = realLater }: DatabaseParts,
): Promise<Database> {
  const level = new Level<string, Uint8Array>(directory, { keyEncoding: 'utf8', valueEncoding: 'view' })
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
  }
  // After a failed write level's log is in an unknown state and takes no more; opened anew it is read and cut right.
  const recover = async () => {
    await level.close()
    await open()
  }

  async function* entries(prefix: string, { gte = '', lt, reverse = false, limit = -1 }: Range) {
    await queue.flush()
    const end = lt === undefined ? prefix.slice(0, -1) + END : prefix + lt
    const start = () => level.iterator({ gte: prefix + gte, lt: end, reverse, limit })
    let iterator: ReturnType<typeof start> | undefined
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
    async compact(name) {
      const classic = level as unknown as { compactRange(start: string, end: string): Promise<void> }
      await classic.compactRange(name + SEPARATOR, name + END)
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
