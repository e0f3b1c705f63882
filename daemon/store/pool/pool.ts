// The rollout pool: every group that may still be trained on, own and foreign ones separately, in memory and in the
// database. It counts uses and remembers IDs. Callers decide which groups are worth training on.

import type { Group } from '../../../protocol/train/index.ts'
import type { Database } from '../database/database.ts'
import type { Log } from '../log.ts'
import { openEntries } from './entries.ts'
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

export async function createPool(
  { capacityGroups, capacityBytes = 256 * 1024 * 1024, capacitySeen = 65_536 }: PoolOptions,
  {
    database,
    log,
    isKnown = () => false,
  }: { database: Database; log: Log; isKnown?: ((author: string) => boolean) | undefined },
): Promise<Pool> {
  const seen = await createSeen({ capacity: capacitySeen }, { database })
  const entries = await openEntries(
    { capacityGroups, capacityBytes },
    { database, log, isKnown, onLoaded: (id) => seen.add(id) },
  )
  const { kept, bytes, find, drop } = entries
  /** Used since the last successful flush of the database; at most the capacity of `seen`. */
  const unwritten = new Set<string>()

  return {
    add(group, origin) {
      const known = find(group.id)
      if (origin === 'own' && !(known?.origin === 'own' && known.uses === 0)) {
        if (known) drop(known)
        seen.add(group.id)
      } else if (known || !seen.add(group.id)) return false
      entries.add(group, origin)
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
        entries.use(entry, step)
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
