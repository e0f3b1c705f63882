// While libp2p has too few relays, it searches the DHT for more, again and again without a pause. In a swarm without a
// relay this never ends: four idle nodes took 5.9 s of CPU in 15 s. With pauses they take 0.7 s. If this node is
// already connected to a relay, libp2p finds it without a DHT walk.
//
// DHT answers leave out the addresses of peers in the node's own routing table. libp2p searches the whole DHT for each
// of those, so the cost grows with the square of their number. Here, their addresses come from the peer store.

import { randomBytes } from 'node:crypto'
import type { PeerInfo, PeerRouting, PeerStore } from '@libp2p/interface'
import type { RandomWalk } from '@libp2p/interface-internal'
import { pause } from '../pause.ts'
import type { Clock } from '../types.ts'

/** Pause between two walks, in ms; doubles after each, up to the longest. */
const [FIRST_MS, LONGEST_MS] = [2000, 60_000]

/** The parts of libp2p that a walk needs. */
export interface WalkComponents {
  /** libp2p's own, which asks several routers; this swarm has one, its DHT. */
  peerRouting: PeerRouting & { routers?: readonly PeerRouting[] }
  peerStore: Pick<PeerStore, 'get' | 'merge'>
}

export function pacedWalk(
  { peerRouting, peerStore }: WalkComponents,
  { clock }: { clock: Clock },
): RandomWalk {
  /** Undefined if no address of the peer is known here: an answer may name anybody. */
  const found = async ({ id, multiaddrs }: PeerInfo): Promise<PeerInfo | undefined> => {
    try {
      if (multiaddrs.length > 0) await peerStore.merge(id, { multiaddrs })
      const { addresses } = await peerStore.get(id)
      return addresses.length > 0
        ? { id, multiaddrs: addresses.map(({ multiaddr }) => multiaddr) }
        : undefined
    } catch {
      return undefined
    }
  }
  async function* closest(signal: AbortSignal | undefined): AsyncGenerator<PeerInfo> {
    for (const router of peerRouting.routers ?? [peerRouting])
      for await (const peer of router.getClosestPeers(randomBytes(32), { ...(signal && { signal }) })) {
        const one = await found(peer)
        if (one !== undefined) yield one
      }
  }
  return {
    async *walk({ signal } = {}) {
      for (let ms = FIRST_MS; ; ms = Math.min(LONGEST_MS, 2 * ms)) {
        try {
          yield* closest(signal)
        } catch {
          // There is no peer to ask yet.
        }
        await pause(ms, clock, signal)
        signal?.throwIfAborted()
      }
    },
  }
}
