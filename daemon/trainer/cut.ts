// Cuts a batch into minibatches, one per optimizer step.

import type { Random } from '../../protocol/plugin/index.ts'
import type { AuthorRows, Row } from './rows.ts'

export interface Minibatch {
  own: Row[]
  ownGroups: number
  foreign: { author: string; rows: Row[]; groups: number }[]
}

/**
 * Distributes whole groups in random order over minibatches of about equal size. Each minibatch has at least one own
 * group; a batch without own groups becomes one minibatch.
 */
export function cut(
  { own, foreign }: { own: Row[][]; foreign: AuthorRows[] },
  minibatches: number,
  random: Random,
): Minibatch[] {
  const count = Math.max(1, Math.min(minibatches, own.length))
  const mine = shuffled(own, count, random)
  const theirs = shuffled(
    foreign.flatMap(({ author, groups }) => groups.map((rows) => ({ author, rows }))),
    count,
    random,
  )
  return Array.from({ length: count }, (_, part) => {
    const chosen = mine.filter((_, i) => i % count === part)
    const byAuthor = new Map<string, { author: string; rows: Row[]; groups: number }>()
    theirs.forEach(({ author, rows }, i) => {
      if (i % count !== part) return
      const before = byAuthor.get(author) ?? { author, rows: [], groups: 0 }
      byAuthor.set(author, { author, rows: [...before.rows, ...rows], groups: before.groups + 1 })
    })
    return { own: chosen.flat(), ownGroups: chosen.length, foreign: [...byAuthor.values()] }
  })
}

function shuffled<T>(items: readonly T[], parts: number, random: Random): T[] {
  const order = [...items]
  if (parts > 1) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      ;[order[i], order[j]] = [order[j]!, order[i]!]
    }
  }
  return order
}
