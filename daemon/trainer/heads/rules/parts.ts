// SPARTA: each exchange averages a random part of the values, the same part on all nodes.

import type { JoinRule } from './contract.ts'

/** `share` of all values; `random` gives the same numbers on all nodes. */
export function createParts({ share, random }: { share: number; random(): number }): JoinRule {
  return {
    join({ weights }, heads) {
      const joined = weights.slice()
      for (let i = 0; i < joined.length; i++) {
        if (random() >= share) continue
        for (const head of heads) joined[i]! += (head.weights[i]! - weights[i]!) / (heads.length + 1)
      }
      return joined
    },
  }
}
