// Peers whose heads this node does not take for a while, because a trial refused them or the node had to go back to before
// it joined them. After that they are tried before they are joined, one by one, so that those who did no harm come back.

export interface Probation {
  /** Not to be asked for its head. */
  isOut(peer: string, version: number): boolean
  /** Its heads are not joined without a trial. */
  isSuspect(peer: string): boolean
  /** From this version of the node's policy on: for 50 versions, the next time for 100, then 200 and so on. */
  put(peers: readonly string[], version: number): void
  /** A trial has taken its head. */
  passed(peers: readonly string[]): void
  /** The user wants it. */
  pardon(peer: string): void
}

const FIRST = 50
const MAX_OFFENCES = 10
const MAX = 1024

export function createProbation(): Probation {
  const all = new Map<string, { until: number; offences: number; isSuspect: boolean }>()
  return {
    isOut: (peer, version) => version < (all.get(peer)?.until ?? 0),
    isSuspect: (peer) => all.get(peer)?.isSuspect ?? false,
    put(peers, version) {
      for (const peer of peers) {
        const offences = Math.min(MAX_OFFENCES, (all.get(peer)?.offences ?? 0) + 1)
        all.delete(peer)
        all.set(peer, { until: version + FIRST * 2 ** (offences - 1), offences, isSuspect: true })
        if (all.size > MAX) all.delete(all.keys().next().value!)
      }
    },
    passed(peers) {
      for (const peer of peers) {
        const found = all.get(peer)
        if (found) found.isSuspect = false
      }
    },
    pardon(peer) {
      all.delete(peer)
    },
  }
}
