// The mean of what each did since its last exchange, each applied once, whenever it arrives.

import { addDifference } from '../vector.ts'
import type { JoinRule } from './contract.ts'

/** `nodes`: how many learn together, this one included. */
export function createDeltas({ nodes }: { nodes: number }): JoinRule {
  return {
    join({ weights, start }, heads) {
      const joined = start.slice()
      addDifference(joined, 1 / nodes, weights, start)
      for (const head of heads) if (head.start) addDifference(joined, 1 / nodes, head.weights, head.start)
      return joined
    },
  }
}
