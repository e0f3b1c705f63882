// The rollout pool: every group that may still be trained on, own and foreign ones separately, in memory and in the
// database. It counts uses and remembers IDs. Callers decide which groups are worth training on.

import type { Group } from '../../../protocol/train/index.ts'
import { readRecord, writeRecord } from '../../../protocol/train/record.ts'
import type { Database } from '../database/database.ts'
import type { Log } from '../log.ts'
import { crowdedOut } from './crowd.ts'
import { type OwnOrForeign, type PoolEntry, select, type Wanted } from './pool-select.ts'
import { createSeen } from './seen.ts'

export type { OwnOrForeign, PoolEntry, Wanted } from './pool-select.ts'

export interface PoolOptions {
  /** Maximum number of own groups and of foreign groups. Separate limits, so that peers cannot crowd out own groups. */
  capacityGroups: number
  /** Maximum encoded bytes of own groups and of foreign groups. */
  capacityBytes?: number
  /** Number of IDs to remember after their groups have left. */
  capacitySeen?: number
}

export interface Pool {
  /**
   * False for a foreign group whose ID was seen before, and for an own group while a group with the same content is
   * still unused. (Short own answers to a recurring prompt are often identical, and worth training on each time.) The
   * pool keeps this object, so the caller must not change it.
   */
  add(group: Group, origin: OwnOrForeign): boolean
  /** Whether a group with this ID was ever added, as far as the pool remembers. */
  hasSeen(id: string): boolean
  /** Newest first. Does not count as use; see markUsed. */
  select(wanted: Wanted): PoolEntry[]
  markUsed(ids: Iterable<string>, step: number): void
  /** IDs of groups whose use is not yet recorded in the database. */
  unwritten(): string[]
  /** Removes groups that were used, and never accepts foreign ones with these IDs again. */
  retire(ids: Iterable<string>): void
  /** Removes entries for which the rule is true. Returns their number. */
  evict(rule: (entry: PoolEntry) => boolean): number
  counts(): { own: number; foreign: number; ownBytes: number; foreignBytes: number; seen: number }
  flush(): Promise<void>
}

interface Kept extends PoolEntry {
  uses: number
  lastUsed: number
  /** Encoded size. */
  bytes: number
}

/** Groups of earlier formats are dropped when the pool is loaded. Change it when the fields of a group change. */
const FORMAT = 'group/3'
/**
 * Bytes deleted before the database is compacted: LevelDB itself frees their space only much later.
 */
const COMPACT_BYTES = 64 * 1024 * 1024

export async function createPool(
  { capacityGroups, capacityBytes = 256 * 1024 * 1024, capacitySeen = 65_536 }: PoolOptions,
  {
    database,
    log,
    isKnown = () => false,
  }: { database: Database; log: Log; isKnown?: ((author: string) => boolean) | undefined },
): Promise<Pool> {
  const groups = database.namespace('group')
  const uses = database.namespace('group-use')
  const seen = await createSeen({ capacity: capacitySeen }, { database })
  /** In order of arrival. */
  const kept = { own: new Map<string, Kept>(), foreign: new Map<string, Kept>() }
  const bytes = { own: 0, foreign: 0 }
  /** Used since the last successful flush of the database; at most the capacity of `seen`. */
  const unwritten = new Set<string>()
  let sequence = 0
  let deletedBytes = 0

  const find = (id: string) => kept.own.get(id) ?? kept.foreign.get(id)

  function insert(entry: Kept): void {
    kept[entry.origin].set(entry.group.id, entry)
    bytes[entry.origin] += entry.bytes
    const entries = kept[entry.origin]
    const isTooMuch = (): boolean =>
      entries.size > capacityGroups || (bytes[entry.origin] > capacityBytes && entries.size > 1)
    while (isTooMuch()) {
      const [oldest] = entries.values()
      drop(entry.origin === 'own' ? oldest! : crowdedOut(entries.values(), { isKnown }))
    }
  }

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

  // Loads the pool from disk.
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
      sequence = Number(match[1])
      seen.add(group.id)
      insert({
        group,
        origin: match[2] as OwnOrForeign,
        uses: times,
        lastUsed,
        sequence,
        bytes: record.length,
      })
    } catch (error) {
      const { message } = error as Error
      dropped.set(message, (dropped.get(message) ?? 0) + 1)
      groups.write(key, undefined)
    }
  }
  for (const [why, count] of dropped)
    log('warn', `${count} group${count === 1 ? ' was' : 's were'} dropped from the pool: ${why}`)
  for (const key of used.keys()) uses.write(key, undefined)

  return {
    add(group, origin) {
      const known = find(group.id)
      if (origin === 'own' && !(known?.origin === 'own' && known.uses === 0)) {
        if (known) drop(known)
        seen.add(group.id)
      } else if (known || !seen.add(group.id)) return false
      const record = writeRecord(FORMAT, group)
      groups.write(keyOf(++sequence, origin), record)
      insert({ group, origin, uses: 0, lastUsed: -1, sequence, bytes: record.length })
      return true
    },
    hasSeen: (id) => seen.has(id),
    select: (wanted) => select([...kept[wanted.origin].values()].reverse(), wanted),
    markUsed(ids, step) {
      for (const id of ids) {
        const entry = find(id)
        if (!entry) continue
        unwritten.add(id)
        if (unwritten.size > capacitySeen) unwritten.delete(unwritten.values().next().value!)
        entry.uses++
        entry.lastUsed = step
        const record = new DataView(new ArrayBuffer(16))
        record.setFloat64(0, entry.uses)
        record.setFloat64(8, step)
        uses.write(keyOf(entry.sequence, entry.origin), new Uint8Array(record.buffer))
      }
    },
    unwritten: () => [...unwritten],
    retire(ids) {
      for (const id of ids) {
        const entry = find(id)
        if (entry) drop(entry)
        seen.add(id)
      }
    },
    evict(rule) {
      const gone = [...kept.own.values(), ...kept.foreign.values()].filter((entry) => rule(entry))
      for (const entry of gone) drop(entry)
      return gone.length
    },
    counts: () => ({
      own: kept.own.size,
      foreign: kept.foreign.size,
      ownBytes: bytes.own,
      foreignBytes: bytes.foreign,
      seen: seen.size,
    }),
    async flush() {
      const before = [...unwritten]
      await database.flush()
      for (const id of before) unwritten.delete(id)
    },
  }
}

/** Sorts by arrival. */
function keyOf(sequence: number, origin: OwnOrForeign): string {
  return `${String(sequence).padStart(12, '0')}-${origin}`
}
