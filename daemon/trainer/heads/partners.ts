// The peers whose heads are in this node's weights. One that has not sent a new head for a while counts as gone.

import type { JoinedHead } from './exchange.ts'

export interface Partner extends JoinedHead {
  /** When its newest head was joined, ms since the epoch. */
  at: number
}

export interface Partners {
  joined(heads: readonly JoinedHead[]): void
  has(peer: string): boolean
  list(): Partner[]
}

const GONE_MS = 10 * 60_000
const MOST = 1024

export function createPartners({ now }: { now(): number }): Partners {
  const partners = new Map<string, Partner>()
  const isHere = ({ at }: Partner): boolean => now() - at < GONE_MS
  return {
    joined(heads) {
      for (const head of heads) {
        partners.delete(head.author)
        partners.set(head.author, { ...head, at: now() })
      }
      while (partners.size > MOST) partners.delete(partners.keys().next().value!)
    },
    has(peer) {
      const partner = partners.get(peer)
      return partner !== undefined && isHere(partner)
    },
    list: () => [...partners.values()].filter(isHere),
  }
}
