// Chooses a batch from what waits in the pool: the newest own groups, and foreign ones drawn at random.
//
// SAPO samples J foreign groups uniformly from those with a signal. Here the draw is over authors first, so that one
// who publishes much is not drawn more often than one who publishes little.

import type { Random } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'

export interface BatchSizes {
  /** I and J in SAPO's words. */
  own: number
  foreign: number
}

/** Undefined while there are not enough own groups. Fewer foreign groups than J are no reason to wait. */
export function chooseBatch(
  waiting: { own: readonly Group[]; foreign: readonly Group[] },
  sizes: BatchSizes,
  random: Random,
): Group[] | undefined {
  if (waiting.own.length < sizes.own) return undefined
  const newest = [...waiting.own].sort((a, b) => b.bornVersion - a.bornVersion || b.bornAt - a.bornAt)
  return [...newest.slice(0, sizes.own), ...drawByAuthor(waiting.foreign, sizes.foreign, random)]
}

function drawByAuthor(groups: readonly Group[], count: number, random: Random): Group[] {
  const byAuthor = new Map<string, Group[]>()
  for (const group of groups) {
    const list = byAuthor.get(group.author)
    if (list) list.push(group)
    else byAuthor.set(group.author, [group])
  }
  const drawn: Group[] = []
  while (drawn.length < count && byAuthor.size > 0) {
    const authors = [...byAuthor.keys()]
    const author = authors[Math.floor(random() * authors.length)]!
    const list = byAuthor.get(author)!
    const [group] = list.splice(Math.floor(random() * list.length), 1)
    if (list.length === 0) byAuthor.delete(author)
    drawn.push(group!)
  }
  return drawn
}
