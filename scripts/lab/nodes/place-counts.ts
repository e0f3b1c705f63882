// Counts tokens by the bin of their place, as a node does when it judges who wrote them.

import type { Score } from '../../../daemon/engine/engine.ts'
import { EDGES, uncalibrated } from '../../../daemon/trainer/sharing/typicality.ts'
import { isUnsure } from '../../../daemon/trainer/watch.ts'
import type { Random } from '../../../protocol/plugin/index.ts'

/** Of scores with places. */
export function placeCounts(scores: readonly Score[], random: Random): number[] {
  const counts = uncalibrated()
  for (const { pit, entropies } of scores)
    pit!.above.forEach((above, t) => {
      const place = above + random() * pit!.ties[t]!
      const bin = EDGES.findIndex((edge) => place < edge)
      counts[(bin < 0 ? EDGES.length - 1 : bin) + (isUnsure(entropies[t]!) ? 0 : EDGES.length)]! += 1
    })
  return counts
}
