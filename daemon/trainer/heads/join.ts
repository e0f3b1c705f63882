// The mean of own weights and peers' heads, where each head is compared with what this node had when it asked for the
// head. So a late head does not pull back what this node has learnt since. A late head also weighs less, since a pull
// towards where a peer was `age` exchanges ago overshoots above 2 sin(π / (2 (2 age + 1))) in all.

import { addDifference, distance, type Vector } from './vector.ts'

export interface AgedHead {
  weights: Vector
  /** This node's own weights when it asked. */
  beside: Vector
  /** How many exchanges of this node ago it asked; 0 for the present one. */
  age: number
  /** A head that is farther from `beside` counts as one at this distance. No limit if it is 0. */
  limit: number
}

export function join(weights: Vector, heads: readonly AgedHead[]): { weights: Vector; isClipped: boolean[] } {
  const joined = weights.slice()
  const isClipped = heads.map(({ weights: theirs, beside, age, limit }) => {
    const apart = distance(theirs, beside)
    const clip = limit > 0 && apart > limit ? limit / apart : 1
    addDifference(joined, clip / ((heads.length + 1) * (1 + age)), theirs, beside)
    return clip < 1
  })
  return { weights: joined, isClipped }
}
