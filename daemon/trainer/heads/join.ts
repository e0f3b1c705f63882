// The mean of own weights and peers' heads, where each head is compared with what this node had about when its peer made it
// (./asked.ts). So an old or late head does not pull back what this node has learnt since.

import { addDifference, type Vector } from './vector.ts'

export interface ComparedHead {
  /** Valid until the weights of another head are asked for. */
  weights(): Vector
  /** What this node had then. */
  beside: Vector
  /** How far it is from that. */
  apart: number
  /** How much it counts, 0 to 1. Default: 1. */
  weight?: number
}

/** How a head came into the weights: share · (head − beside). */
export interface AddedHead {
  author: string
  /** SHA-256 of the head's bytes, or of weights that were taken as they were. */
  hash: string
  share: number
  beside: Vector
}

/** A stranger's weights, of which audits have said what they may count for (../audit/ladder.ts). */
export interface AuditedWeights {
  author: string
  version: number
  /** Their SHA-256. */
  hash: string
  weights: Vector
  /** What this node had when it asked for them. */
  beside: Vector
  /** 0 to 1, of what all strangers together count for. */
  weight: number
}

export interface JoinOptions {
  /** How many learn together, this node included. */
  nodes: number
  /** A head that is farther from `beside` counts as one at this distance. */
  farthest: number
}

/**
 * weights + Σ share (head - beside), where the share of a head is its weight / nodes, less if it was too far. No
 * argument is changed.
 */
export function join(
  weights: Vector,
  heads: readonly ComparedHead[],
  { nodes, farthest }: JoinOptions,
): { weights: Vector; added: { share: number }[] } {
  const joined = weights.slice()
  const added = heads.map(({ weights: theirs, beside, apart, weight = 1 }) => {
    const clip = apart > farthest ? farthest / apart : 1
    const share = (weight * clip) / nodes
    addDifference(joined, share, theirs(), beside)
    return { share }
  })
  return { weights: joined, added }
}
