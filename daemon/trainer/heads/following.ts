// Peers with more work behind their weights, whose weights this node tries as they are, so that it follows nodes that are
// faster. One whose weights were no better is left alone for a while, or a peer could hold this node up with trial after
// trial.

export interface Following {
  /** Not while its weights were no better a moment ago. `version`: this node's. */
  mayAsk(peer: string, version: number): boolean
  /** Its weights were no better: for 16 versions from this one on, the next time for 32, and so on to 1024. */
  missed(peer: string, version: number): void
  /** The node stands where the peer stands, or the user wants it. */
  pardon(peer: string): void
}

const [FIRST, LONGEST] = [16, 1024]
const MAX_REMEMBERED = 1024

export function createFollowing(): Following {
  const paused = new Map<string, { until: number; pause: number }>()
  return {
    mayAsk: (peer, version) => version >= (paused.get(peer)?.until ?? 0),
    missed(peer, version) {
      const pause = Math.min(LONGEST, 2 * (paused.get(peer)?.pause ?? FIRST / 2))
      paused.delete(peer)
      paused.set(peer, { until: version + pause, pause })
      if (paused.size > MAX_REMEMBERED) paused.delete(paused.keys().next().value!)
    },
    pardon: (peer) => void paused.delete(peer),
  }
}
