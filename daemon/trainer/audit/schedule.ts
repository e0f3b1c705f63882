// When a node audits a peer, and whom: at random, and the sooner the less was seen of a peer. It has no clock; the caller says
// what an audit took.

export interface AuditScheduleOptions {
  /** Largest share of a processor's time that audits may take. */
  share?: number
  /** Audits are at least so far apart, in ms. */
  leastMs?: number
}

export interface AuditSchedule {
  /** The peer among these to audit now; undefined while there is none, or the last audit was too recent. `now`: monotonic ms. */
  next(peers: readonly string[], now: number): string | undefined
  /** An audit has ended. `seconds`: what it took. `isPassed`: whether it proved a step. */
  ended(peer: string, done: { seconds: number; isPassed: boolean }, now: number): void
}

/** A twentieth. */
const SHARE = 0.05
/** A peer without a receipt costs next to nothing, and is asked again later. */
const LEAST_MS = 10_000
const MAX_PEERS = 1024

export function createAuditSchedule(
  { share = SHARE, leastMs = LEAST_MS }: AuditScheduleOptions,
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
    ended(peer, { seconds, isPassed }, now) {
      free = now + Math.max(leastMs, (1000 * seconds) / share)
      if (!isPassed) return
      const count = (passed.get(peer) ?? 0) + 1
      passed.delete(peer)
      passed.set(peer, count)
      if (passed.size > MAX_PEERS) passed.delete(passed.keys().next().value!)
    },
  }
}
