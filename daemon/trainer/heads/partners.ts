// The peers whose heads are in this node's weights. One that has not sent a new head for a while counts as gone, but what
// it has brought stays in the weights, and in checkpoints.

import { type JoinedPeers, MAX_JOINED } from '../../policy/trained.ts'
import type { JoinedHead, TriedHead } from './exchange.ts'

export interface Partner extends JoinedHead {
  /** When its newest head was joined, ms since the epoch. */
  at: number
}

export interface Partners {
  /** `version`: this node's own. */
  joined(heads: readonly JoinedHead[], version: number): void
  /**
   * A trial took its head, with all that was behind it, in place of these own groups. It was far away. `version`: this
   * node's.
   */
  took(head: Omit<TriedHead, 'weights'>, version: number, replaced: number): void
  has(peer: string): boolean
  /** Its newest head was joined because it was near, not by a trial. */
  isNear(peer: string): boolean
  /** Those whose newest head was joined after this version of this node's. */
  since(version: number): string[]
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
  /** `isCounted`: its groups are not among `behind`. */
  let partners = new Map<string, Partner & { heads: number; mine: number; isCounted: boolean }>()
  /** Groups of others behind weights that a trial took, or behind those of a checkpoint. */
  let behind = 0
  const isHere = ({ at }: Partner): boolean => now() - at < GONE_MS
  const add = (head: JoinedHead, mine: number, isCounted: boolean): void => {
    const heads = (partners.get(head.author)?.heads ?? 0) + 1
    partners.delete(head.author)
    partners.set(head.author, { ...head, heads, mine, isCounted, at: now() })
    if (partners.size > MAX_JOINED) partners.delete(partners.keys().next().value!)
  }
  const groups = (known: number): number =>
    Math.max(
      behind,
      [...partners.values()].reduce((sum, { own, isCounted }) => (isCounted ? sum + own : sum), known),
    )

  return {
    joined(heads, version) {
      for (const head of heads) add(head, version, true)
    },
    took({ author, version, own, foreign }, mine, replaced) {
      add({ author, version, own, isClipped: true }, mine, false)
      behind = Math.max(behind, own + foreign - replaced)
    },
    has(peer) {
      const partner = partners.get(peer)
      return partner !== undefined && isHere(partner)
    },
    isNear(peer) {
      const partner = partners.get(peer)
      return partner !== undefined && isHere(partner) && !partner.isClipped
    },
    since: (version) =>
      [...partners.values()].filter(({ mine }) => mine > version).map(({ author }) => author),
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
          { author: peer, heads, own, version, at, mine: 0, isClipped: false, isCounted: false },
        ]),
      )
    },
  }
}
