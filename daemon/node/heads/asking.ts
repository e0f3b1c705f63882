// Asks peers for their heads, and fetches those that are new.

import type { Head } from '../../../protocol/wire/index.ts'
import type { Swarm } from '../../swarm/index.ts'
import type { HeadExchange } from '../../trainer/heads/exchange.ts'

export interface AskingParts {
  /** Undefined without a network. */
  swarm(): Pick<Swarm, 'heads' | 'peers'> | undefined
  /** Members of a private swarm, and peers that the user vouches for. */
  isTrusted(peer: string): boolean
  /** Peers whose heads are not taken for a while. */
  isOut(peer: string): boolean
  random(): number
  /** Wakes the train loop when heads have arrived. */
  wake(): void
}

export interface Asking {
  /** Trusted peers to ask now, in random order. */
  trusted(): string[]
  /** Others, whose heads may teach. */
  strangers(): string[]
  /** Asks these peers, and hands on what they have. Never rejects. */
  all(peers: readonly string[], taker: Taker): Promise<void>
  /** The peer's answer, or its head, is on its way. */
  isAsking(peer: string): boolean
  /** The peer has no head of this lineage. */
  hasNone(peer: string): boolean
  /** Its head is fetched again, even if it is the same. */
  forget(peer: string): void
  /** Connected peers that are not asked for a while. */
  out(): string[]
  /** Malformed heads so far. */
  readonly refused: number
}

/** Who gets the heads. */
export interface Taker extends Pick<HeadExchange, 'answered'> {
  take(head: Head & { bytes: Uint8Array }): ReturnType<HeadExchange['take']>
}

/** Peers that are asked in one exchange. */
const MAX_PEERS = 8
const MAX_STRANGERS = 2
const MAX_REMEMBERED = 1024

export function createAsking(
  { size, lineage }: { size: number; lineage: string },
  { swarm, isTrusted, isOut, random, wake }: AskingParts,
): Asking {
  /** Hash of the newest fetched head, by peer. */
  const fetched = new Map<string, string>()
  /** Peers that have no head of this lineage. */
  const without = new Set<string>()
  const asked = new Set<string>()
  let refused = 0

  const connected = (isWanted: (peer: string) => boolean, most: number): string[] =>
    (swarm()?.peers() ?? [])
      .filter((peer) => peer.connected && isWanted(peer.id))
      .map(({ id }) => ({ id, order: random() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, most)
      .map(({ id }) => id)

  const fetch = async (peer: string, taker: Taker): Promise<void> => {
    const heads = swarm()?.heads
    const head = await heads?.ask(peer, lineage)
    if (head) without.delete(peer)
    else without.add(peer)
    if (!heads || !head || fetched.get(peer) === head.hash) return
    const bytes = await heads.fetch(head, { size })
    if (!bytes) return
    const answer = taker.take({ ...head, bytes })
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
    trusted: () => connected((peer) => isTrusted(peer) && !isOut(peer), MAX_PEERS),
    strangers: () => connected((peer) => !isTrusted(peer), MAX_STRANGERS),
    out: () =>
      (swarm()?.peers() ?? []).filter(({ id, connected }) => connected && isOut(id)).map(({ id }) => id),
    isAsking: (peer) => asked.has(peer),
    hasNone: (peer) => without.has(peer),
    forget(peer) {
      without.delete(peer)
      fetched.delete(peer)
    },
    get refused() {
      return refused
    },
    async all(peers, taker) {
      const ask = async (peer: string): Promise<void> => {
        asked.add(peer)
        await fetch(peer, taker).finally(() => {
          asked.delete(peer)
          taker.answered(peer)
        })
      }
      await Promise.allSettled(peers.map(ask))
    },
  }
}
