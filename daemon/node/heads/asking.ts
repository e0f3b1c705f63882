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
  /** It had no head yet when it was asked, or was never asked. */
  isNew(peer: string): boolean
  /** Why nothing came of asking the peer, if so. */
  lack(peer: string): Lack | undefined
  /** Groups behind the newest head that was taken from the peer, by its own count. */
  groups(peer: string): number | undefined
  /** Its head is fetched again, even if it is the same. */
  forget(peer: string): void
  /** Connected peers that are not asked for a while. */
  out(): string[]
  /** Malformed heads so far. */
  readonly refused: number
}

/**
 * none: it has no head of this lineage. no answer: it said nothing, or did not send its head. limit: that of this node for
 * this hour is used up.
 */
export type Lack = 'none' | 'no answer' | 'limit'

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
  /** The newest fetched head, by peer. */
  const fetched = new Map<string, { hash: string; groups: number | undefined }>()
  const lacks = new Map<string, Lack>()
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
    if (!heads || !head) {
      remember(lacks, peer, head === null ? 'none' : 'no answer')
      return
    }
    lacks.delete(peer)
    if (fetched.get(peer)?.hash === head.hash) return
    const onHeld = (): void => remember(lacks, peer, 'limit')
    const bytes = await heads.fetch(head, { size, onHeld })
    if (!bytes) {
      if (!lacks.has(peer)) remember(lacks, peer, 'no answer')
      return
    }
    const answer = taker.take({ ...head, bytes })
    if (answer === 'late') return
    if (answer === 'malformed') {
      refused++
      heads.blame(peer)
    }
    const groups = answer === 'taken' ? head.own + head.foreign : undefined
    remember(fetched, peer, { hash: head.hash, groups })
    wake()
  }

  return {
    trusted: () => connected((peer) => isTrusted(peer) && !isOut(peer), MAX_PEERS),
    strangers: () => connected((peer) => !isTrusted(peer), MAX_STRANGERS),
    out: () =>
      (swarm()?.peers() ?? []).filter(({ id, connected }) => connected && isOut(id)).map(({ id }) => id),
    isAsking: (peer) => asked.has(peer),
    isNew: (peer) => !fetched.has(peer) && (lacks.get(peer) ?? 'none') === 'none',
    lack: (peer) => lacks.get(peer),
    groups: (peer) => fetched.get(peer)?.groups,
    forget(peer) {
      lacks.delete(peer)
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

/** Forgets the oldest entry if there are too many. */
function remember<T>(entries: Map<string, T>, peer: string, entry: T): void {
  entries.delete(peer)
  entries.set(peer, entry)
  if (entries.size > MAX_REMEMBERED) entries.delete(entries.keys().next().value!)
}
