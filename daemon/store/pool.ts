// The rollout pool: every group that may still be trained on, own and foreign apart, in memory, with the database as
// its durable twin. Keeps count of uses and remembers what it has seen. Which groups are worth training on is not
// decided here: callers bring the rule.

import type { Group } from '../../protocol/train/index.ts'
import type { Database } from './database.ts'
import { decodeGroup, encodeGroup } from './group-codec.ts'
import type { Log } from './log.ts'
import { type Origin, type PoolEntry, select, type Wanted } from './pool-select.ts'
import { createSeen } from './seen.ts'

export type { Origin, PoolEntry, Wanted } from './pool-select.ts'

export interface PoolOptions {
  /** Groups of each origin that are kept; the oldest go first. Apart, so that peers cannot crowd out own groups. */
  capacityGroups: number
  /** Bytes of each origin, as encoded. */
  capacityBytes?: number
  /** Content ids that are remembered after their group has gone. */
  capacitySeen?: number
}

export interface Pool {
  /**
   * False for a foreign group whose content was seen before, from whomever, and for an own one while the same waits unused:
   * this node's short answers to a prompt that comes back are often the same ones, and as good to learn from as the first
   * time. The group is kept as it is and must not change any more.
   */
  add(group: Group, origin: Origin): boolean
  /** Whether this content was added or marked as seen, ever (as far as memory goes). */
  has(id: string): boolean
  /** Remembers a group that was refused, so that it is not looked at again. */
  markSeen(id: string): void
  get(id: string): PoolEntry | undefined
  /** Newest first. Looks only; use is what markUsed says. */
  select(wanted: Wanted): PoolEntry[]
  markUsed(ids: Iterable<string>, step: number): void
  /** Removes what the rule says; returns how many. */
  evict(rule: (entry: PoolEntry) => boolean): number
  counts(): { own: number; foreign: number; ownBytes: number; foreignBytes: number; seen: number }
  flush(): Promise<void>
}

interface Kept extends PoolEntry {
  uses: number
  lastUsed: number
  /** As encoded. */
  bytes: number
}

/** Deleted bytes after which the database is compacted: level gives nothing back by itself for a long time. */
const COMPACT_BYTES = 64 * 1024 * 1024

export async function createPool(
  { capacityGroups, capacityBytes = 256 * 1024 * 1024, capacitySeen = 65_536 }: PoolOptions,
  { database, log }: { database: Database; log: Log },
): Promise<Pool> {
  const groups = database.namespace('group')
  const uses = database.namespace('group-use')
  const seen = await createSeen({ capacity: capacitySeen }, { database })
  /** In order of arrival. */
  const kept = { own: new Map<string, Kept>(), foreign: new Map<string, Kept>() }
  const bytes = { own: 0, foreign: 0 }
  let sequence = 0
  let deletedBytes = 0

  const find = (id: string) => kept.own.get(id) ?? kept.foreign.get(id)

  function insert(entry: Kept): void {
    kept[entry.origin].set(entry.group.id, entry)
    bytes[entry.origin] += entry.bytes
    for (const oldest of kept[entry.origin].values()) {
      const { size } = kept[entry.origin]
      if (size <= capacityGroups && (bytes[entry.origin] <= capacityBytes || size === 1)) break
      drop(oldest)
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

  // Start: what is on disk becomes what is in memory.
  const used = new Map<string, [uses: number, lastUsed: number]>()
  for await (const [key, value] of uses.entries()) {
    const view = new DataView(value.buffer, value.byteOffset, value.byteLength)
    if (value.byteLength === 16) used.set(key, [view.getFloat64(0), view.getFloat64(8)])
  }
  for await (const [key, record] of groups.entries()) {
    const match = /^(\d+)-(own|foreign)$/.exec(key)
    try {
      if (!match) throw new Error('its key is of another kind')
      const group = decodeGroup(record)
      const [times, lastUsed] = used.get(key) ?? [0, -1]
      used.delete(key)
      sequence = Number(match[1])
      seen.add(group.id)
      insert({
        group,
        origin: match[2] as Origin,
        uses: times,
        lastUsed,
        sequence,
        bytes: record.length,
      })
    } catch (error) {
      log('warn', `a group was dropped from the pool: ${(error as Error).message}`, { key })
      groups.write(key, undefined)
    }
  }
  for (const key of used.keys()) uses.write(key, undefined)

  return {
    add(group, origin) {
      const known = find(group.id)
      if (origin === 'own' && !(known?.origin === 'own' && known.uses === 0)) {
        if (known) drop(known)
        seen.add(group.id)
      } else if (known || !seen.add(group.id)) return false
      const record = encodeGroup(group)
      groups.write(keyOf(++sequence, origin), record)
      insert({ group, origin, uses: 0, lastUsed: -1, sequence, bytes: record.length })
      return true
    },
    has: (id) => seen.has(id) || find(id) !== undefined,
    markSeen(id) {
      seen.add(id)
    },
    get: find,
    select: (wanted) => select([...kept[wanted.origin].values()].reverse(), wanted),
    markUsed(ids, step) {
      for (const id of ids) {
        const entry = find(id)
        if (!entry) continue
        entry.uses++
        entry.lastUsed = step
        const record = new DataView(new ArrayBuffer(16))
        record.setFloat64(0, entry.uses)
        record.setFloat64(8, step)
        uses.write(keyOf(entry.sequence, entry.origin), new Uint8Array(record.buffer))
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
    flush: () => database.flush(),
  }
}

/** Sorts by arrival. */
function keyOf(sequence: number, origin: Origin): string {
  return `${String(sequence).padStart(12, '0')}-${origin}`
}
