// Maintains ARISE's two tiers (arXiv 2603.16060): update, add, evict, load, delete, in this order.
//
// Utilities start in [-1, 1] and are updated with values in [0, 2], as in the authors' code, so used skills
// drift up. A new skill whose name exists in either tier is rejected, even if it is improved. If a step has
// several new skills, the cache is trimmed to its size after each. With fewer than 20 entries, the cut-off for
// deletion is the lowest utility; only utilities strictly below it are deleted, so nothing is.

import { byScore, type Entry } from '../library/entry.ts'
import type { Library } from '../library/library.ts'
import { nameOf } from './document.ts'

export const TIERS = { cache: 10, reservoir: 100 } as const

/** An operation that was carried out; a log lists them in order. */
export type Operation = 'update' | 'add' | 'evict' | 'load' | 'delete'

interface Upkeep {
  /** The skills shown, each with its prompt's mean reward, between 0 and 2. */
  used: readonly { id: string; reward: number }[]
  added: readonly Entry[]
}

export function maintain(library: Library, { used, added }: Upkeep): Operation[] {
  const done: Operation[] = []
  for (const { id, reward } of used) {
    const entry = library.find(id)
    if (!entry) continue
    library.put({ ...entry, score: 0.9 * entry.score + 0.1 * reward, uses: entry.uses + 1 })
    done.push('update')
  }
  for (const entry of added) {
    const name = nameOf(entry.text)
    if (name === undefined || library.entries().some(({ text }) => nameOf(text) === name)) continue
    library.put({ ...entry, zone: 'cache' })
    done.push('add')
    const worst = library.entries('cache')[TIERS.cache]
    if (!worst) continue
    library.put({ ...worst, zone: 'reservoir' })
    done.push('evict')
  }
  const best = library.entries('reservoir')[0]
  const worst = library.entries('cache').at(-1)
  if (best && worst && best.score > worst.score) {
    library.put({ ...best, zone: 'cache' })
    library.put({ ...worst, zone: 'reservoir' })
    done.push('load')
  }
  if (prune(library)) done.push('delete')
  return done
}

function prune(library: Library): boolean {
  const rising = library.entries('reservoir').sort((a, b) => -byScore(a, b))
  if (rising.length === 0) return false
  const cutoff = rising[Math.max(0, Math.floor(0.1 * rising.length) - 1)]!.score
  const idle = rising.filter(({ score, uses }) => score < cutoff && uses === 0)
  const left = rising.filter((entry) => !idle.includes(entry))
  const beyond = left.slice(0, Math.max(0, left.length - TIERS.reservoir))
  for (const { id } of [...idle, ...beyond]) library.remove(id)
  return idle.length + beyond.length > 0
}
