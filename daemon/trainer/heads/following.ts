// Peers with more work behind their weights, whose weights this node tries as they are, so that it follows nodes that are
// faster. One whose weights were no better is left alone for a while, or a peer could hold this node up with trial after
// trial. One whose weights cost a task what it had is not followed any more, only averaged: it may do other tasks.

export interface Following {
  /** Not while its weights were no better a moment ago. `version`: this node's. */
  mayAsk(peer: string, version: number): boolean
  mayFollow(peer: string): boolean
  /** The node stands where the peer stands. */
  followed(peer: string): void
  /** Its weights were no better: for 16 versions from this one on, the next time for 32, and so on to 1024. */
  missed(peer: string, version: number): void
  /** A task lost by its weights. */
  lost(peer: string): void
  /** The user wants it. */
  pardon(peer: string): void
}

const [FIRST, LONGEST] = [16, 1024]
const MAX_REMEMBERED = 1024

export function createFollowing(): Following {
  const paused = new Map<string, { until: number; pause: number }>()
  const unlike = new Set<string>()
  return {
    mayAsk: (peer, version) => version >= (paused.get(peer)?.until ?? 0),
    mayFollow: (peer) => !unlike.has(peer),
    followed(peer) {
      paused.delete(peer)
    },
    missed(peer, version) {
      const pause = Math.min(LONGEST, 2 * (paused.get(peer)?.pause ?? FIRST / 2))
      paused.delete(peer)
      paused.set(peer, { until: version + pause, pause })
      if (paused.size > MAX_REMEMBERED) paused.delete(paused.keys().next().value!)
    },
    lost(peer) {
      unlike.add(peer)
      if (unlike.size > MAX_REMEMBERED) unlike.delete(unlike.values().next().value!)
    },
    pardon(peer) {
      paused.delete(peer)
      unlike.delete(peer)
    },
  }
}
