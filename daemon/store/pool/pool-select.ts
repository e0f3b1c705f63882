// Picks groups from the pool by filter, order and count. Pure.

import type { Group } from '../../../protocol/train/index.ts'

export type OwnOrForeign = 'own' | 'foreign'

export interface PoolEntry {
  readonly group: Group
  readonly origin: OwnOrForeign
  /** Number of batches that used the group. */
  readonly uses: number
  /** Step of the last such batch; -1 before the first. */
  readonly lastUsed: number
  /** Order of arrival. */
  readonly sequence: number
}

export interface Wanted {
  origin: OwnOrForeign
  /** Maximum number of groups to pick. */
  count: number
  /** Which groups qualify; all by default. */
  where?: (entry: PoolEntry) => boolean
  /** The newest, the least used (newest first among equals), or uniformly at random. */
  order: 'newest' | 'least-used' | 'uniform'
  /** Required for `uniform`. */
  random?: () => number
}

/** Expects entries newest first. Returns them least used first for that order, otherwise newest first. */
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
