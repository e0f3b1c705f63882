// Whom of its peers a node looks at, and how often at most: at random, and the sooner the less was seen of a peer.
// Whether it computes a step again is drawn in budget.ts. It has no clock.

export interface AuditSchedule {
  /** The peer among these to look at now; undefined while there is none, or the last look was too recent. `now`: monotonic ms. */
  next(peers: readonly string[], now: number): string | undefined
  /** It was looked at. `isPassed`: whether that proved a step. */
  ended(peer: string, done: { isPassed: boolean }, now: number): void
}

const MAX_PEERS = 1024

export function createAuditSchedule(
  /** Looks are at least so far apart. */
  { leastMs }: { leastMs: number },
  { random }: { random(): number },
): AuditSchedule {
  /** Audits that a peer has passed. */
  const passed = new Map<string, number>()
  let free = 0
  return {
    next(peers, now) {
      if (now < free) return undefined
      const chances = peers.map((peer) => 1 / (1 + (passed.get(peer) ?? 0)))
      let left = random() * chances.reduce((sum, chance) => sum + chance, 0)
      return peers.find((_, i) => {
        left -= chances[i]!
        return left < 0
      })
    },
    ended(peer, { isPassed }, now) {
      free = now + leastMs
      if (!isPassed) return
      const count = (passed.get(peer) ?? 0) + 1
      passed.delete(peer)
      passed.set(peer, count)
      if (passed.size > MAX_PEERS) passed.delete(passed.keys().next().value!)
    },
  }
}
