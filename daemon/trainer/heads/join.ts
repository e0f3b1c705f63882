// The mean of own weights and peers' heads, where each head is compared with what this node had when it asked for it. So
// a late head does not pull back what this node has learnt since.

import { addDifference, distance, type Vector } from './vector.ts'

export interface ComparedHead {
  weights: Vector
  /** What this node had when it asked for the head. */
  beside: Vector
}

export interface JoinOptions {
  /** How many learn together, this node included. */
  nodes: number
  /** A head that is farther from `beside` counts as one at this distance. */
  farthest: number
}

/** weights + Σ (head - beside) / nodes. No argument is changed. `clipped`: whether each head was too far. */
export function join(
  weights: Vector,
  heads: readonly ComparedHead[],
  { nodes, farthest }: JoinOptions,
): { weights: Vector; clipped: boolean[] } {
  const joined = weights.slice()
  const clipped = heads.map(({ weights: theirs, beside }) => {
    const apart = distance(theirs, beside)
    const clip = apart > farthest ? farthest / apart : 1
    addDifference(joined, clip / nodes, theirs, beside)
    return clip < 1
  })
  return { weights: joined, clipped }
}
