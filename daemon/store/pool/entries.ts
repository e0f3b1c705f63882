// The pool's entries: own and foreign groups, each in order of arrival and within limits, in memory and in the database.

import type { Group } from '../../../protocol/train/index.ts'
import { readRecord, writeRecord } from '../../../protocol/train/record.ts'
import type { Database } from '../database/database.ts'
import type { Log } from '../log.ts'
import { crowdedOut } from './crowd.ts'
import type { OwnOrForeign, PoolEntry } from './pool-select.ts'

interface Kept extends PoolEntry {
  uses: number
  lastUsed: number
  /** Encoded size. */
  bytes: number
}

export interface Entries {
  readonly kept: Readonly<Record<OwnOrForeign, ReadonlyMap<string, Kept>>>
  /** Encoded bytes. */
  readonly bytes: Readonly<Record<OwnOrForeign, number>>
  find(id: string): Kept | undefined
  add(group: Group, origin: OwnOrForeign): void
  /** Counts one more use. */
  use(entry: Kept, step: number): void
  drop(entry: Kept): void
}

interface EntriesParts {
  database: Database
  log: Log
  isKnown(author: string): boolean
  /** Called with the ID of each group that was on disk. */
  onLoaded(id: string): void
}

/** Groups of earlier formats are dropped when the pool is loaded. Change it when the fields of a group change. */
const FORMAT = 'group/3'
/** Bytes deleted before the database is compacted: LevelDB itself frees their space only much later. */
const COMPACT_BYTES = 64 * 1024 * 1024

/** Loads the entries from disk. The limits hold for own and for foreign groups each. */
export async function openEntries(
  { capacityGroups, capacityBytes }: { capacityGroups: number; capacityBytes: number },
  { database, log, isKnown, onLoaded }: EntriesParts,
): Promise<Entries> {
  const groups = database.namespace('group')
  const uses = database.namespace('group-use')
  const kept = { own: new Map<string, Kept>(), foreign: new Map<string, Kept>() }
  const bytes = { own: 0, foreign: 0 }
  let sequence = 0
  let deletedBytes = 0

  function drop({ group, origin, sequence: at, bytes: size }: Kept): void {
    kept[origin].delete(group.id)
    bytes[origin] -= size
    groups.write(keyOf(at, origin), undefined)
    uses.write(keyOf(at, origin), undefined)
    deletedBytes += size
    if (deletedBytes < COMPACT_BYTES) return
    deletedBytes = 0
    database.compact('group').catch((error) => log('warn', `compaction failed: ${(error as Error).message}`))
  }

  function insert(entry: Kept): void {
    const { origin } = entry
    kept[origin].set(entry.group.id, entry)
    bytes[origin] += entry.bytes
    const entries = kept[origin]
    while (entries.size > capacityGroups || (bytes[origin] > capacityBytes && entries.size > 1)) {
      const [oldest] = entries.values()
      drop(origin === 'own' ? oldest! : crowdedOut(entries.values(), { isKnown }))
    }
  }

  for await (const entry of loaded(database, log)) {
    sequence = entry.sequence
    onLoaded(entry.group.id)
    insert(entry)
  }

  return {
    kept,
    bytes,
    find: (id) => kept.own.get(id) ?? kept.foreign.get(id),
    add(group, origin) {
      const record = writeRecord(FORMAT, group)
      sequence += 1
      groups.write(keyOf(sequence, origin), record)
      insert({ group, origin, uses: 0, lastUsed: -1, sequence, bytes: record.length })
    },
    use(entry, step) {
      entry.uses++
      entry.lastUsed = step
      const record = new DataView(new ArrayBuffer(16))
      record.setFloat64(0, entry.uses)
      record.setFloat64(8, step)
      uses.write(keyOf(entry.sequence, entry.origin), new Uint8Array(record.buffer))
    },
    drop,
  }
}

/** What is on disk, oldest first. Drops what cannot be read, and says so. */
async function* loaded(database: Database, log: Log): AsyncGenerator<Kept> {
  const groups = database.namespace('group')
  const uses = database.namespace('group-use')
  const used = new Map<string, [uses: number, lastUsed: number]>()
  for await (const [key, value] of uses.entries()) {
    const view = new DataView(value.buffer, value.byteOffset, value.byteLength)
    if (value.byteLength === 16) used.set(key, [view.getFloat64(0), view.getFloat64(8)])
  }
  const dropped = new Map<string, number>()
  for await (const [key, record] of groups.entries()) {
    const match = /^(\d+)-(own|foreign)$/.exec(key)
    try {
      if (!match) throw new Error('its key is of another kind')
      const group = readRecord(FORMAT, record) as Group
      const [times, lastUsed] = used.get(key) ?? [0, -1]
      used.delete(key)
      const [origin, sequence] = [match[2] as OwnOrForeign, Number(match[1])]
      yield { group, origin, uses: times, lastUsed, sequence, bytes: record.length }
    } catch (error) {
      const { message } = error as Error
      dropped.set(message, (dropped.get(message) ?? 0) + 1)
      groups.write(key, undefined)
    }
  }
  for (const [why, count] of dropped)
    log('warn', `${count} group${count === 1 ? ' was' : 's were'} dropped from the pool: ${why}`)
  for (const key of used.keys()) uses.write(key, undefined)
}

/** Sorts by arrival. */
function keyOf(sequence: number, origin: OwnOrForeign): string {
  return `${String(sequence).padStart(12, '0')}-${origin}`
}
