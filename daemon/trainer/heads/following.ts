// Peers with more work behind their weights, whose weights this node tries as they are, so that it follows nodes that are
// faster. One whose weights were no better is not tried for a while, or a peer could hold this node up with trial after
// trial.

export interface Following {
  /** Its weights were no better a moment ago. `exchanges`: of this node, so far. */
  isPaused(peer: string, exchanges: number): boolean
  /**
   * Its weights were no better: for 4 exchanges from this one on, the next time for 8, and so on to 64. Whether it was so the
   * last time.
   */
  missed(peer: string, exchanges: number): boolean
  /** It was so the last time. */
  hasMissed(peer: string): boolean
  /** The node stands where the peer stands, or the user wants it. */
  pardon(peer: string): void
}

const [FIRST, LONGEST] = [4, 64]
const MAX_REMEMBERED = 1024

export function createFollowing(): Following {
  const paused = new Map<string, { until: number; pause: number }>()
  return {
    isPaused: (peer, exchanges) => exchanges < (paused.get(peer)?.until ?? 0),
    missed(peer, exchanges) {
      const had = paused.get(peer)
      const pause = Math.min(LONGEST, had ? 2 * had.pause : FIRST)
      paused.delete(peer)
      paused.set(peer, { until: exchanges + pause, pause })
      if (paused.size > MAX_REMEMBERED) paused.delete(paused.keys().next().value!)
      return had !== undefined
    },
    hasMissed: (peer) => paused.has(peer),
    pardon: (peer) => void paused.delete(peer),
  }
}
