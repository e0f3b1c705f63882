// Asks trusted peers for their heads, and fetches those that are new.

import type { Swarm } from '../../swarm/index.ts'
import type { HeadExchange } from '../../trainer/heads/exchange.ts'

export interface AskingParts {
  /** Undefined without a network. */
  swarm(): Pick<Swarm, 'heads' | 'peers'> | undefined
  /** Members of a private swarm, and peers that the user vouches for. */
  isTrusted(peer: string): boolean
  random(): number
  /** Wakes the train loop when heads have arrived. */
  wake(): void
}

export interface Asking {
  /** Trusted peers to ask now, in random order. */
  trusted(): string[]
  /** Asks these peers, and hands on what they have. Never rejects. */
  all(peers: readonly string[], exchange: Pick<HeadExchange, 'take' | 'answered'>): Promise<void>
  /** The peer has no head of this lineage. */
  hasNone(peer: string): boolean
  /** Its head is fetched again, even if it is the same. */
  forget(peer: string): void
  /** Malformed heads so far. */
  readonly refused: number
}

/** Peers that are asked in one exchange. */
const MAX_PEERS = 8
const MAX_REMEMBERED = 1024

export function createAsking(
  { size, lineage }: { size: number; lineage: string },
  { swarm, isTrusted, random, wake }: AskingParts,
): Asking {
  /** Hash of the newest fetched head, by peer. */
  const fetched = new Map<string, string>()
  /** Peers that have no head of this lineage. */
  const without = new Set<string>()
  let refused = 0

  const fetch = async (peer: string, exchange: Pick<HeadExchange, 'take'>): Promise<void> => {
    const heads = swarm()?.heads
    const head = await heads?.ask(peer, lineage)
    if (head) without.delete(peer)
    else without.add(peer)
    if (!heads || !head || fetched.get(peer) === head.hash) return
    const bytes = await heads.fetch(head, { size })
    if (!bytes) return
    const answer = exchange.take({ ...head, bytes })
    if (answer === 'late') return
    if (answer === 'malformed') {
      refused++
      heads.blame(peer)
    }
    fetched.delete(peer)
    fetched.set(peer, head.hash)
    if (fetched.size > MAX_REMEMBERED) fetched.delete(fetched.keys().next().value!)
    wake()
  }

  return {
    trusted: () =>
      (swarm()?.peers() ?? [])
        .filter(({ id, connected }) => connected && isTrusted(id))
        .map(({ id }) => ({ id, order: random() }))
        .sort((a, b) => a.order - b.order)
        .slice(0, MAX_PEERS)
        .map(({ id }) => id),
    hasNone: (peer) => without.has(peer),
    forget(peer) {
      without.delete(peer)
      fetched.delete(peer)
    },
    get refused() {
      return refused
    },
    async all(peers, exchange) {
      await Promise.allSettled(
        peers.map((peer) => fetch(peer, exchange).finally(() => exchange.answered(peer))),
      )
    },
  }
}
