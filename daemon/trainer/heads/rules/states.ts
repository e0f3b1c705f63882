// The plain mean of own weights and peers' heads.

import { addDifference } from '../vector.ts'
import type { JoinRule } from './contract.ts'

export function createStates(): JoinRule {
  return {
    join({ weights }, heads) {
      const joined = weights.slice()
      for (const head of heads) addDifference(joined, 1 / (heads.length + 1), head.weights, weights)
      return joined
    },
  }
}
