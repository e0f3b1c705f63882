// Admission to SLEA-RL's library (arXiv 2603.18079): strategies and warnings, three levels each, by
// similarity and score.
//
// An entry similar to one in its zone is not added, but raises that entry's score to its own if it is higher. In a
// full level, a new entry replaces the lowest one only if it scores higher. The limits per step count entries that
// were actually admitted; the authors' code tests once per trajectory and also counts rejected ones. In that code a
// warning's score is the failure's reward, which is 0; here newer warnings score higher, so that a full level does
// not stay unchanged for ever.

import type { Entry } from '../library/entry.ts'
import type { Library } from '../library/library.ts'
import { areAlike } from '../library/similarity.ts'

export const STRATEGIES = ['principle', 'method', 'example'] as const
export const WARNINGS = ['mistake', 'pattern', 'diagnostic'] as const
export const ZONES: Readonly<Record<string, number>> = {
  ...{ principle: 100, method: 100, example: 100 },
  ...{ mistake: 50, pattern: 50, diagnostic: 50 },
}
export const isStrategy = (zone: string): boolean => (STRATEGIES as readonly string[]).includes(zone)

export type Admission = 'added' | 'replaced' | 'merged' | 'rejected'

export function admit(library: Library, entry: Entry): Admission {
  const level = library.entries(entry.zone)
  const alike = level.find(({ id, text }) => id === entry.id || areAlike(text, entry.text))
  if (alike) {
    library.put({ ...alike, score: Math.max(alike.score, entry.score) })
    return 'merged'
  }
  if (!library.hasRoomFor(entry)) return 'rejected'
  const lowest = level.at(-1)
  if (!library.isFull(entry.zone) || !lowest) {
    library.put(entry)
    return 'added'
  }
  if (entry.score <= lowest.score) return 'rejected'
  library.remove(lowest.id)
  library.put(entry)
  return 'replaced'
}

/** The entries that were admitted, in order. */
export function admitWithin(
  library: Library,
  entries: readonly Entry[],
  limits: { strategies: number; warnings: number },
): Entry[] {
  const left = { ...limits }
  return entries.filter((entry) => {
    const kind = isStrategy(entry.zone) ? 'strategies' : 'warnings'
    if (left[kind] === 0) return false
    const how = admit(library, entry)
    const isNew = how === 'added' || how === 'replaced'
    if (isNew) left[kind] -= 1
    return isNew
  })
}

/** The score of a text at its level; undefined if the level does not accept it. */
export function scoreOf(zone: string, { score, step }: { score: number; step: number }): number | undefined {
  if (zone === 'method') return score
  if (zone === 'example') return 0.8 * score
  if (zone === 'principle') return score >= 0.8 ? score : undefined
  return step
}
