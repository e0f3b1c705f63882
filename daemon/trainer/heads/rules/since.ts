// The mean of own weights and peers' heads, where each head is compared with what this node had when the head was made.
// So a late head does not pull back what this node has learnt since. A late head also weighs less: a pull towards where
// a peer was `age` exchanges ago overshoots above 2 sin(π / (2 (2 age + 1))) in all.

import { addDifference } from '../vector.ts'
import type { JoinRule } from './contract.ts'

export function createSince(): JoinRule {
  return {
    join({ weights }, heads) {
      const joined = weights.slice()
      for (const { weights: theirs, beside, age } of heads)
        addDifference(joined, 1 / ((heads.length + 1) * (1 + age)), theirs, beside)
      return joined
    },
  }
}
