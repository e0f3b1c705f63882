// Admission to SLEA-RL's library (arXiv 2603.18079): strategies and warnings, three levels each, by likeness and score.
//
// What is like an entry of its zone is not added, and raises that entry's score to its own. In a full level a new entry
// takes the place of the lowest only if it scores higher. The limits per step count what was really admitted, entry by
// entry; the authors' code tests once a trajectory and counts rejects. A warning scores by its age there by the failure's
// reward, which is 0; here newer ones score higher, so that a full level does not stay as it is for ever.

import type { Entry } from './entry.ts'
import type { Library } from './library.ts'
import { areAlike } from './similarity.ts'

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

/** Those that were really admitted, in order. */
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

/** What a text is worth at its level; undefined where that level does not take it. */
export function scoreOf(zone: string, { score, step }: { score: number; step: number }): number | undefined {
  if (zone === 'method') return score
  if (zone === 'example') return 0.8 * score
  if (zone === 'principle') return score >= 0.8 ? score : undefined
  return step
}
