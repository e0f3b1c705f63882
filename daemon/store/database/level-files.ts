// Checks the files of a closed LevelDB folder, byte by byte. LevelDB itself ends the process at some damaged tables, and
// passes over the damaged or missing end of a log or MANIFEST in silence. A damaged end is a record that is not whole; a
// missing one shows by the size that the file had before: see `sizesIn`.
//
// The formats are those of LevelDB's doc/log_format.md and doc/table_format.md.

import { readdirSync, statSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import crc32c from 'crc-32/crc32c.js'
import { unsnapped } from './snappy.ts'

/** Bytes of each log and MANIFEST that were written. */
export type Sizes = Readonly<Record<string, number>>

export interface Faults {
  /** Tables of the database that cannot be read whole. */
  tables: string[]
  /**
   * Tables that are not whole and that its MANIFEST does not list: a process was killed while it wrote them. LevelDB
   * deletes them.
   */
  unfinished: string[]
  /** Why LevelDB would not find its content, or would lose a part of it in silence; undefined if it would not. */
  index?: string
  /** Logs whose end cannot be read: the bytes that can, those that cannot, and those that are gone. */
  logs: Array<{ name: string; intact: number; unread: number; gone: number }>
}

const LOG = /^\d+\.log$/
const TABLE = /^\d+\.(ldb|sst)$/
const MANIFEST = /^MANIFEST-\d+$/

export async function faultsIn(directory: string, sizes: Sizes): Promise<Faults> {
  const names = await readdir(directory).catch(() => [] as string[])
  const read = (name: string): Promise<Uint8Array> => readFile(join(directory, name))
  const faults: Faults = { tables: [], unfinished: [], logs: [] }
  const logs = names.filter((name) => LOG.test(name))
  const index = await indexOf({ names, sizes, read })
  for (const name of names.filter((one) => TABLE.test(one)))
    if (!isWholeTable(await read(name))) {
      const isListed = index.tables?.has(numberOf(name)) ?? true
      ;(isListed ? faults.tables : faults.unfinished).push(name)
    }
  for (const name of logs) {
    const bytes = await read(name)
    const { intact, isDamaged } = wholeRecords(bytes)
    const written = sizes[name] ?? 0
    // Beyond `written`, a process may have been killed in the middle of a write that it never reported as done.
    const unread = Math.max(0, (isDamaged ? bytes.length : Math.min(written, bytes.length)) - intact)
    const gone = Math.max(0, written - bytes.length)
    if (unread + gone > 0) faults.logs.push({ name, intact, unread, gone })
  }
  // LevelDB deletes a log when its content is in a table, and then it has begun a newer one.
  const newest = Math.max(-1, ...logs.map(numberOf))
  for (const [name, size] of Object.entries(sizes))
    if (LOG.test(name) && numberOf(name) > newest)
      faults.logs.push({ name, intact: 0, unread: 0, gone: size })
  return index.fault === undefined ? faults : { ...faults, index: index.fault }
}

/** Sizes of the logs and MANIFESTs. */
export function sizesIn(directory: string): Sizes {
  const names = readdirSync(directory).filter((name) => LOG.test(name) || MANIFEST.test(name))
  return Object.fromEntries(names.map((name) => [name, statSync(join(directory, name)).size]))
}

/** The numbers of the tables that the database consists of; or what is wrong with its list. */
async function indexOf({
  names,
  sizes,
  read,
}: {
  names: readonly string[]
  sizes: Sizes
  read(name: string): Promise<Uint8Array>
}): Promise<{ tables?: Set<number>; fault?: string }> {
  if (!names.includes('CURRENT'))
    // LevelDB treats such a folder as new, and would delete its content.
    return names.some((name) => TABLE.test(name) || LOG.test(name))
      ? { fault: 'its file CURRENT is missing' }
      : {}
  const current = Buffer.from(await read('CURRENT')).toString('latin1')
  const manifest = current.slice(0, -1)
  if (!current.endsWith('\n') || !MANIFEST.test(manifest)) return { fault: 'its file CURRENT is damaged' }
  if (!names.includes(manifest)) return { fault: `its file ${manifest} is missing` }
  const bytes = await read(manifest)
  const { intact, isDamaged, records } = wholeRecords(bytes)
  const tables = tablesIn(records)
  if (isDamaged || !tables || intact < (sizes[manifest] ?? 0) || intact === 0)
    return { fault: `its file ${manifest} is damaged` }
  return { tables }
}

/** Fields of a MANIFEST's records (db/version_edit.cc): `n` is a number, `s` a text with its length before it. */
const FIELDS: Readonly<Record<number, string>> = {
  1: 's',
  2: 'n',
  3: 'n',
  4: 'n',
  5: 'ns',
  6: 'nn',
  7: 'nnnss',
  9: 'n',
}
const [DELETED, ADDED] = [6, 7]

/** The numbers of the tables that were added and not deleted; undefined if a record is not as it should be. */
function tablesIn(records: readonly Uint8Array[]): Set<number> | undefined {
  const tables = new Set<number>()
  try {
    for (const record of records) {
      const reader = readerOf(record)
      while (!reader.isAtEnd()) {
        const field = reader.varint()
        const numbers: number[] = []
        for (const kind of FIELDS[field]!)
          if (kind === 'n') numbers.push(reader.varint())
          else reader.skip(reader.varint())
        // The first is the level.
        if (field === ADDED) tables.add(numbers[1]!)
        if (field === DELETED) tables.delete(numbers[1]!)
      }
    }
    return tables
  } catch {
    return undefined
  }
}

function numberOf(name: string): number {
  return Number.parseInt(name, 10)
}

const BLOCK = 32_768
const HEADER = 7
const [FULL, FIRST, LAST] = [1, 2, 4]

interface WholeRecords {
  /** Bytes up to the end of the last record before which everything is whole. */
  intact: number
  /**
   * A record follows that is there in full and has another checksum. False at a record that ends with the file, as
   * after a kill.
   */
  isDamaged: boolean
  /** The contents of the whole ones. */
  records: Uint8Array[]
}

/** Reads the records of a log or MANIFEST up to the first that is not whole. */
export function wholeRecords(bytes: Uint8Array): WholeRecords {
  const view = viewOf(bytes)
  const records: Uint8Array[] = []
  let parts: Uint8Array[] = []
  let intact = 0
  for (let at = 0; ; ) {
    const room = BLOCK - (at % BLOCK)
    if (room < HEADER) {
      at += room
      continue
    }
    if (at + HEADER > bytes.length) return { intact, isDamaged: false, records }
    const length = view.getUint16(at + 4, true)
    const type = bytes[at + 6]!
    // A file system may leave zeros behind when the power fails.
    if (type === 0 && length === 0) return { intact, isDamaged: false, records }
    if (HEADER + length > room) return { intact, isDamaged: true, records }
    const end = at + HEADER + length
    if (end > bytes.length) return { intact, isDamaged: false, records }
    if (view.getUint32(at, true) !== maskedCrc(bytes.subarray(at + 6, end)))
      return { intact, isDamaged: true, records }
    if (type === FULL || type === FIRST) parts = []
    parts.push(bytes.subarray(at + HEADER, end))
    at = end
    if (type === FULL || type === LAST) {
      intact = at
      records.push(parts.length === 1 ? parts[0]! : Buffer.concat(parts))
    }
  }
}

const FOOTER = 48
const MAGIC = 0xdb4775248b80fb57n
/** After each block: its compression and checksum. */
const TRAILER = 5
const SNAPPY = 1

function isWholeTable(bytes: Uint8Array): boolean {
  try {
    const footer = bytes.subarray(bytes.length - FOOTER)
    if (viewOf(footer).getBigUint64(FOOTER - 8, true) !== MAGIC) return false
    const reader = readerOf(footer)
    blockAt(bytes, reader.handle())
    for (const handle of handlesIn(blockAt(bytes, reader.handle()))) blockAt(bytes, handle, { isRaw: true })
    return true
  } catch {
    return false
  }
}

interface Handle {
  offset: number
  size: number
}

/** A block's content. `isRaw`: checks it, and leaves it compressed. Throws if it is damaged. */
function blockAt(table: Uint8Array, { offset, size }: Handle, { isRaw = false } = {}): Uint8Array {
  const whole = table.subarray(offset, offset + size + TRAILER)
  const checksum = viewOf(whole).getUint32(size + 1, true)
  if (checksum !== maskedCrc(whole.subarray(0, size + 1))) throw new RangeError('a damaged block')
  const content = whole.subarray(0, size)
  return !isRaw && whole[size] === SNAPPY ? unsnapped(content) : content
}

/** The values of an index block, which are handles of the table's blocks. */
function* handlesIn(block: Uint8Array): Generator<Handle> {
  const restarts = viewOf(block).getUint32(block.length - 4, true)
  const reader = readerOf(block.subarray(0, block.length - 4 - 4 * restarts))
  while (!reader.isAtEnd()) {
    reader.varint()
    const rest = reader.varint()
    reader.varint()
    reader.skip(rest)
    yield reader.handle()
  }
}

function readerOf(bytes: Uint8Array) {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; shift < 49; shift += 7) {
      if (at >= bytes.length) break
      const byte = bytes[at++]!
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new RangeError('a number without an end')
  }
  return {
    varint,
    handle: (): Handle => ({ offset: varint(), size: varint() }),
    skip: (count: number): void => {
      at += count
    },
    isAtEnd: (): boolean => at >= bytes.length,
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** LevelDB's CRC-32C, which is masked because files contain checksums of checksums. */
function maskedCrc(bytes: Uint8Array): number {
  const crc = crc32c.buf(bytes) >>> 0
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}
