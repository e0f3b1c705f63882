// Asks the swarm's DHT where a peer is. libp2p does this too when it knows no address, but it takes an empty entry in
// its own peer store for an answer, and it never asks again about a peer whose address is out of date.

import type { PeerId } from '@libp2p/interface'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock } from '../types.ts'
import { within } from '../within.ts'

const LOOKUP_MS = 3000
/** Minimum time between two lookups of a peer: if no address is known, and if the known ones did not work. */
const AGAIN_MS = { unknown: 500, stale: 2000 }
/** Maximum number of peers whose last lookup is remembered; an evicted one may be looked up again at once. */
const MAX_PEERS = 256

interface LookupParts {
  libp2p: SwarmNode
  clock: Clock
  /** New addresses were found. */
  onLearned(peer: string): void
}

export class Lookup {
  private readonly parts: LookupParts
  private readonly askedAt = new Map<string, number>()

  constructor(_options: object, parts: LookupParts) {
    this.parts = parts
  }

  /** Resolves with true if there are new addresses to try, which are then in libp2p's peer store. Never rejects. */
  async find(peer: PeerId, signal?: AbortSignal): Promise<boolean> {
    const { libp2p, clock, onLearned } = this.parts
    // There is nobody to ask.
    if (libp2p.getPeers().length === 0) return false
    const id = peer.toString()
    const before = await this.addresses(peer)
    const wait = before.size === 0 ? AGAIN_MS.unknown : AGAIN_MS.stale
    if (clock.now() - (this.askedAt.get(id) ?? Number.NEGATIVE_INFINITY) < wait) return false
    if (this.askedAt.size >= MAX_PEERS) this.askedAt.delete(this.askedAt.keys().next().value!)
    this.askedAt.set(id, clock.now())
    try {
      await within(LOOKUP_MS, { clock, signal }, (until) =>
        libp2p.peerRouting.findPeer(peer, { useCache: false, signal: until }),
      )
    } catch {
      // There is no DHT, or nobody knows the peer.
      return false
    }
    const isNew = [...(await this.addresses(peer))].some((address) => !before.has(address))
    if (isNew) onLearned(id)
    return isNew
  }

  private async addresses(peer: PeerId): Promise<Set<string>> {
    const record = await this.parts.libp2p.peerStore.get(peer).catch(() => undefined)
    return new Set((record?.addresses ?? []).map(({ multiaddr }) => multiaddr.toString()))
  }
}
