// The peers that a node learns together with, by this node's own steps: whose heads have come, when, and how often.

export interface Members {
  /** A head of the peer has come, and not too long ago. */
  has(peer: string, version: number): boolean
  /** Heads of these peers are in the weights now. */
  admit(peers: readonly string[], version: number): void
  dismiss(peers: readonly string[]): void
  /**
   * A member's head came, so far away, and joins moved this node by `pulled`. True if so many were too far that it is no
   * member any more.
   */
  strays(peer: string, head: { apart: number; isClipped: boolean; pulled: number }): boolean
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
/** Heads in a row that are too far away and not much nearer than the one before: a node that comes back needs several. */
const MANY = 3
/**
 * Much nearer: less than this share of the distance before. Where a node is drawn to a forger, the forger comes nearer too,
 * but slowly (`npm run -s sim:forged`).
 */
const NEARER = 0.8

/** `every`: optimizer steps between two heads. */
export function createMembers({ every }: { every: number }): Members {
  /** By peer: this node's version when its newest head was joined. */
  const members = new Map<string, number>()
  /** This node's version at its first head, and at each head that it has joined lately. */
  let first: number | undefined
  let joins: { peer: string; at: number }[] = []
  /** By member: heads in a row that were too far away and came little nearer, and where the last one was. */
  const far = new Map<string, { times: number; apart: number }>()
  const isGone = (last: number, version: number): boolean => version > last + ABSENT * every
  return {
    has: (peer, version) => members.has(peer) && !isGone(members.get(peer)!, version),
    admit(peers, version) {
      for (const peer of peers) members.set(peer, version)
      joins = [...joins, ...peers.map((peer) => ({ peer, at: version }))].filter(
        ({ at }) => at > version - LATELY * every,
      )
    },
    dismiss(peers) {
      for (const peer of peers) for (const kept of [members, far]) kept.delete(peer)
      joins = joins.filter(({ peer }) => !peers.includes(peer))
    },
    strays(peer, { apart, isClipped: isFar, pulled }) {
      const { times, apart: before } = far.get(peer) ?? { times: 0, apart: 0 }
      const now = apart < NEARER * before ? times : times + 1
      const isOver = isFar && now >= MANY
      if (isOver) members.delete(peer)
      if (!isFar || isOver) far.delete(peer)
      // What the joins moved this node is no merit of the peer.
      else far.set(peer, { times: now, apart: Math.max(0, apart - pulled) })
      return isOver
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
