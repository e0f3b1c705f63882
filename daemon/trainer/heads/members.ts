// The peers that a node learns together with, by this node's own steps: whose heads have come, when, and how often.

export interface Members {
  /** Heads of these peers are in the weights now. */
  admit(peers: readonly string[], version: number): void
  dismiss(peers: readonly string[]): void
  /** How many there are besides this node, with these; those of whom nothing has come for long are forgotten. */
  count(version: number, others?: readonly string[]): number
  /** This node made a head. */
  made(version: number): void
  /** See HeadExchange.nodesAt. */
  nodesAt(version: number): number
}

/** A peer from which no head has come for so many of this node's own does not count among the nodes. */
const ABSENT = 16
/** How many of its own heads a node looks back for what has come meanwhile. */
const LATELY = 8
/** `every`: optimizer steps between two heads. */
export function createMembers({ every }: { every: number }): Members {
  /** By peer: this node's version when its newest head was joined. */
  const members = new Map<string, number>()
  /** This node's version at its first head, and at each head that it has joined lately. */
  let first: number | undefined
  let joins: { peer: string; at: number }[] = []
  const isGone = (last: number, version: number): boolean => version > last + ABSENT * every
  return {
    admit(peers, version) {
      for (const peer of peers) members.set(peer, version)
      joins = [...joins, ...peers.map((peer) => ({ peer, at: version }))].filter(
        ({ at }) => at > version - LATELY * every,
      )
    },
    dismiss(peers) {
      for (const peer of peers) members.delete(peer)
      joins = joins.filter(({ peer }) => !peers.includes(peer))
    },
    count(version, others = []) {
      for (const [peer, last] of members) if (isGone(last, version)) members.delete(peer)
      return new Set([...members.keys(), ...others]).size
    },
    made(version) {
      first ??= version
    },
    nodesAt(version) {
      const window = Math.min(LATELY * every, Math.max(every, version - (first ?? version)))
      const lately = Map.groupBy(
        joins.filter(({ at }) => at > version - window),
        ({ peer }) => peer,
      )
      // A node whose groups teach it little joins several of a peer for each of its own.
      const each = [...lately.values()].map(({ length }) => Math.min(1, (every * length) / window))
      return 1 + each.reduce((a, b) => a + b, 0)
    },
  }
}
