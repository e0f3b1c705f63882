// While libp2p has too few relays, it searches the DHT for some, again and again without a pause. In a swarm without a relay
// that never ends: four idle nodes took 5.9 s of CPU in 15 s. Pauses make that 0.7 s. A relay that this node is connected
// with is found without a walk.
//
// DHT answers lack the addresses of peers in the node's own table. libp2p searches the whole DHT for each of those, so the
// cost grows with the square of their number. Here their addresses come from the peer store.

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
  /** Undefined for a peer without an address that is known here: an answer may name anybody. */
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
          // There is nobody to ask yet.
        }
        await pause(ms, clock, signal)
        signal?.throwIfAborted()
      }
    },
  }
}
