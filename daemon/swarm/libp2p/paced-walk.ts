// libp2p looks for relays by walking the DHT at random, again and again without a pause, for as long as it has too few of
// them. In a swarm without a relay that never ends: four idle nodes took 5.9 s of CPU in 15 s, and 0.7 s with this. A relay that
// this node is connected with is found without a walk. libp2p also searches the whole DHT for each found peer whose
// addresses the answer lacks, as it does for all peers in the node's own table: the square of their number. Here they
// come from the peer store.

import { randomBytes } from 'node:crypto'
import type { PeerInfo, PeerRouting, PeerStore } from '@libp2p/interface'
import type { RandomWalk } from '@libp2p/interface-internal'
import { pause } from '../pause.ts'
import type { Clock } from '../types.ts'

/** ms between two walks; doubled after each, up to the longest. */
const [FIRST_MS, LONGEST_MS] = [2000, 60_000]

/** What a walk needs of libp2p. */
export interface WalkComponents {
  /** libp2p's own asks several others, of which this swarm has one: its DHT. */
  peerRouting: PeerRouting & { routers?: readonly PeerRouting[] }
  peerStore: Pick<PeerStore, 'get' | 'merge'>
}

export function pacedWalk(
  { peerRouting, peerStore }: WalkComponents,
  { clock }: { clock: Clock },
): RandomWalk {
  const found = async ({ id, multiaddrs }: PeerInfo): Promise<PeerInfo> => {
    if (multiaddrs.length > 0) await peerStore.merge(id, { multiaddrs })
    const { addresses } = await peerStore.get(id)
    return { id, multiaddrs: addresses.map(({ multiaddr }) => multiaddr) }
  }
  async function* closest(signal: AbortSignal | undefined): AsyncGenerator<PeerInfo> {
    for (const router of peerRouting.routers ?? [peerRouting])
      for await (const peer of router.getClosestPeers(randomBytes(32), { ...(signal && { signal }) }))
        yield await found(peer)
  }
  return {
    async *walk({ signal } = {}) {
      for (let ms = FIRST_MS; ; ms = Math.min(LONGEST_MS, 2 * ms)) {
        try {
          yield* closest(signal)
        } catch {
          // There is nobody to ask yet.
        }
        await pause(ms, clock, signal)
        signal?.throwIfAborted()
      }
    },
  }
}
