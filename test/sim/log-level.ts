// A stand-in for LevelDB on the simulated disk, with its promises: a batch is whole or missing, and a synced batch and all
// before it survive a power cut. And with its trap: after a failed write it takes more, and has lost it at the next start,
// unless it was opened again in between. It is one log of checksummed batches, replaced by a snapshot when it has grown.

import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { decode, encode } from 'cborg'
import { ensureDirectory, PARTIAL, remove } from '../../daemon/store/atomic.ts'
import type { LevelStore } from '../../daemon/store/database/database.ts'
import type { Disk, DiskFile } from '../../daemon/store/disk.ts'

type Entry = [key: string, value: Uint8Array | null]

const LOG = /^(\d{6})\.log$/
/** Bytes of a log after which it is replaced. */
const ROTATE = 1 << 20

export interface LogLevel extends LevelStore {
  put(key: string, value: Uint8Array, options?: { sync?: boolean }): Promise<void>
  del(key: string, options?: { sync?: boolean }): Promise<void>
}

export function createLogLevel({ directory }: { directory: string }, { disk }: { disk: Disk }): LogLevel {
  let values = new Map<string, Uint8Array>()
  let file: DiskFile | undefined
  let [number, size, isTorn] = [0, 0, false]
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(run: () => Promise<Result>): Promise<Result> => {
    const done = last.then(run)
    last = done.catch(() => {})
    return done
  }
  const nameOf = (of: number) => join(directory, `${String(of).padStart(6, '0')}.log`)

  async function load(): Promise<void> {
    values = new Map()
    const names = (await disk.readDirectory(directory)).filter((name) => LOG.test(name)).sort()
    const newest = names.at(-1)
    number = newest === undefined ? 0 : Number(LOG.exec(newest)![1])
    if (newest === undefined) return
    const bytes = await readWhole(join(directory, newest), disk)
    for (const entries of batchesOf(bytes)) for (const entry of entries) apply(entry)
  }

  function apply([key, value]: Entry): void {
    if (value === null) values.delete(key)
    // A copy, since a small Buffer keeps all of the 8 KiB that it was cut from.
    else values.set(key, new Uint8Array(value))
  }

  /** Starts a new log with all that is known. */
  async function snapshot(): Promise<void> {
    const path = nameOf(number + 1)
    await remove(path + PARTIAL, { disk })
    const next = await disk.open(path + PARTIAL, 'create')
    const record = recordOf([...values])
    await next.append(record)
    await next.sync()
    await disk.rename(path + PARTIAL, path)
    await disk.syncDirectory(directory)
    await file?.close()
    file = next
    isTorn = false
    number++
    size = record.length
    for (const name of await disk.readDirectory(directory))
      if (LOG.test(name) && name < path.slice(directory.length + 1)) await disk.unlink(join(directory, name))
  }

  async function write(entries: Entry[], sync: boolean): Promise<void> {
    if (file === undefined) throw failure('the log is closed')
    try {
      const record = recordOf(entries)
      if (!isTorn) await file.append(record)
      if (sync) await file.sync()
      for (const entry of entries) apply(entry)
      size += record.length
    } catch (error) {
      isTorn = true
      throw failure(String((error as Error).message))
    }
    if (size > ROTATE) await snapshot().catch(() => {})
  }

  return {
    open: () =>
      inTurn(async () => {
        await ensureDirectory(directory, { disk })
        await load()
        await snapshot()
      }),
    close: () =>
      inTurn(async () => {
        await file?.close().catch(() => {})
        file = undefined
      }),
    get: async (key) => values.get(key),
    put: (key, value, { sync = false } = {}) => inTurn(() => write([[key, value]], sync)),
    del: (key, { sync = false } = {}) => inTurn(() => write([[key, null]], sync)),
    batch: (operations, { sync }) =>
      inTurn(() =>
        write(
          operations.map((one): Entry => [one.key, one.type === 'put' ? one.value : null]),
          sync,
        ),
      ),
    iterator({ gte = '', lt, reverse = false, limit = -1 }) {
      const keys = [...values.keys()].filter((key) => key >= gte && (lt === undefined || key < lt)).sort()
      if (reverse) keys.reverse()
      const rest = (limit < 0 ? keys : keys.slice(0, limit)).map((key): [string, Uint8Array] => [
        key,
        values.get(key)!,
      ])
      return {
        nextv: async (count) => rest.splice(0, count),
        close: async () => {},
        async *[Symbol.asyncIterator]() {
          yield* rest
        },
      }
    },
    async compactRange() {},
  }
}

function failure(why: string): Error {
  return Object.assign(new Error(`IO error: ${why}`), { code: 'LEVEL_IO_ERROR' })
}

/** Length and CRC-32 of the batch, 4 bytes each, and the batch. */
function recordOf(entries: readonly Entry[]): Uint8Array {
  const body = encode(entries)
  const record = Buffer.alloc(8 + body.length)
  record.writeUInt32LE(body.length, 0)
  record.writeUInt32LE(crc32(body), 4)
  record.set(body, 8)
  return record
}

/** Up to the first damaged record. */
function* batchesOf(bytes: Uint8Array): Generator<Entry[]> {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at + 8 <= view.length; ) {
    const body = view.subarray(at + 8, at + 8 + view.readUInt32LE(at))
    if (body.length < view.readUInt32LE(at) || body.length === 0 || crc32(body) !== view.readUInt32LE(at + 4))
      return
    yield decode(body) as Entry[]
    at += 8 + body.length
  }
}

async function readWhole(path: string, disk: Disk): Promise<Uint8Array> {
  const bytes = new Uint8Array((await disk.stat(path))?.size ?? 0)
  const file = await disk.open(path, 'read')
  try {
    await file.read(bytes, 0)
    return bytes
  } finally {
    await file.close()
  }
}
