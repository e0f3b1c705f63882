// How groups are picked from the pool: a rule for which qualify, an order, and a number. Pure.

import type { Group } from '../../protocol/train/index.ts'

export type Origin = 'own' | 'foreign'

export interface PoolEntry {
  readonly group: Group
  readonly origin: Origin
  /** Batches that it was part of. */
  readonly uses: number
  /** Step of the last of them; -1 before the first. */
  readonly lastUsed: number
  /** Counts arrivals. */
  readonly sequence: number
}

export interface Wanted {
  origin: Origin
  /** At most so many. */
  count: number
  /** Which ones qualify; all unless stated. */
  where?: (entry: PoolEntry) => boolean
  /** The newest, the least used (newest first among equals), or any with equal chance. */
  order: 'newest' | 'least-used' | 'uniform'
  /** Needed for `uniform`. */
  random?: () => number
}

/** Picks from entries that are given newest first. The least used come back as such, others newest first. */
export function select<Entry extends PoolEntry>(
  newestFirst: Entry[],
  { count, where = () => true, order, random }: Wanted,
): Entry[] {
  const candidates = newestFirst.filter((entry) => where(entry))
  if (order === 'newest') return candidates.slice(0, count)
  // Array.sort is stable, so the newest stay first among equals.
  if (order === 'least-used') return candidates.sort((a, b) => a.uses - b.uses).slice(0, count)
  if (!random) throw new RangeError('uniform selection needs a random stream')
  const total = candidates.length
  for (let i = 0; i < Math.min(count, total); i++) {
    const j = i + Math.floor(random() * (total - i))
    const swap = candidates[i]!
    candidates[i] = candidates[j]!
    candidates[j] = swap
  }
  return candidates.slice(0, count).sort((a, b) => b.sequence - a.sequence)
}
