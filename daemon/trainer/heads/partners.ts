// The peers whose heads are in this node's weights. One that has not sent a new head for a while counts as gone, but what
// it has brought stays in the weights, and in checkpoints.

import { type JoinedPeers, MAX_JOINED } from '../../policy/trained.ts'
import type { JoinedHead, TriedHead } from './exchange.ts'

export interface Partner extends JoinedHead {
  /** When its newest head was joined, ms since the epoch. */
  at: number
}

export interface Partners {
  joined(heads: readonly JoinedHead[]): void
  /** A trial took its head, with all that was behind it, in place of so many own groups. It was far away. */
  took(head: Omit<TriedHead, 'weights'>, replaced: number): void
  has(peer: string): boolean
  /** Its weights were taken once. */
  isKnown(peer: string): boolean
  /** Its newest head was joined because it was near, not by a trial. */
  isNear(peer: string): boolean
  /** Those of whom heads are in the weights that are not in the weights of this checkpoint. */
  since(checkpoint: JoinedPeers | undefined): string[]
  /** Those that are here. */
  list(): Partner[]
  /** Groups of others behind the weights, as their authors claim; at least `known`, those that this node counted. */
  groups(known: number): number
  /** Undefined if nothing was ever joined. */
  save(): JoinedPeers | undefined
  /** Replaces everything by what a checkpoint says. */
  restore(joined: JoinedPeers | undefined): void
}

const GONE_MS = 10 * 60_000

export function createPartners({ now }: { now(): number }): Partners {
  /** `base`: so many of its groups are among `behind`. */
  let partners = new Map<string, Partner & { heads: number; base: number }>()
  /** Groups of others behind weights that a trial took, or behind those of a checkpoint. */
  let behind = 0
  // A time far ahead is of before the clock was put right.
  const isHere = ({ at }: Partner): boolean => Math.abs(now() - at) < GONE_MS
  const add = (head: JoinedHead): void => {
    const had = partners.get(head.author)
    const heads = (had?.heads ?? 0) + 1
    // Whoever is new may have learnt from those whose weights were taken, too.
    const base = had?.base ?? (behind > 0 ? head.own : 0)
    partners.delete(head.author)
    partners.set(head.author, { ...head, heads, base, at: now() })
    if (partners.size > MAX_JOINED) partners.delete(partners.keys().next().value!)
  }
  const groups = (known: number): number =>
    [...partners.values()].reduce(
      (sum, { own, base }) => sum + Math.max(0, own - base),
      Math.max(behind, known),
    )

  return {
    joined(heads) {
      for (const head of heads) add(head)
    },
    took({ author, version, own, foreign, tasks }, replaced) {
      behind = Math.max(groups(0), own + foreign - replaced)
      add({ author, version, own, isClipped: true, ...(tasks && { tasks }) })
      for (const partner of partners.values()) partner.base = partner.own
    },
    has(peer) {
      const partner = partners.get(peer)
      return partner !== undefined && isHere(partner)
    },
    isKnown: (peer) => partners.has(peer),
    isNear(peer) {
      const partner = partners.get(peer)
      return partner !== undefined && isHere(partner) && !partner.isClipped
    },
    since(checkpoint) {
      const then = new Map(checkpoint?.peers.map(({ peer, heads }) => [peer, heads]))
      return [...partners.values()]
        .filter(({ author, heads }) => heads > (then.get(author) ?? 0))
        .map(({ author }) => author)
    },
    list: () => [...partners.values()].filter(isHere),
    groups,
    save() {
      if (partners.size === 0) return undefined
      const peers = [...partners.values()].map(({ author, heads, own, version, at }) => ({
        ...{ peer: author, heads, groups: own, version, at },
      }))
      return { groups: groups(0), peers }
    },
    restore(joined) {
      behind = joined?.groups ?? 0
      partners = new Map(
        joined?.peers.map(({ peer, heads, groups: own, version, at }) => [
          peer,
          { author: peer, heads, own, version, at, isClipped: false, base: own },
        ]),
      )
    },
  }
}
