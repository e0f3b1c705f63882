// Heads of peers that may teach: weights of this lineage that are asked for what they say, and never joined. They stay in
// eight bits, because only one is asked at a time.

import type { Weights } from '../../engine/weights.ts'
import type { TeachingHead } from '../../policy/teachers.ts'
import { packedSize, unpackBeside } from './blocks.ts'
import { type Layout, toWeights, type Vector } from './vector.ts'

export interface StrangersHead {
  author: string
  version: number
  /** What the peer says of itself. */
  tasks: readonly { name: string; difficulty: number; accuracy: number }[]
  bytes: Uint8Array
}

export interface TeachingHeads {
  take(head: StrangersHead): 'taken' | 'malformed'
  /** Newest first. */
  list(): TeachingHead[]
}

/** Peers whose heads are kept. */
const MAX_HEADS = 4

/** `origin`: the values that all nodes of the lineage began with. */
export function createTeachingHeads({ layout, origin }: { layout: Layout; origin(): Vector }): TeachingHeads {
  const heads = new Map<string, TeachingHead>()
  const weightsIn = (bytes: Uint8Array): Weights | undefined => {
    const vector = unpackBeside(origin(), bytes)
    return vector && toWeights(layout, vector)
  }
  return {
    take({ author, version, tasks, bytes }) {
      if (bytes.length !== packedSize(layout.size) || !weightsIn(bytes)) return 'malformed'
      heads.delete(author)
      heads.set(author, {
        ...{ peer: author, version },
        claims: tasks.map(({ name, difficulty, accuracy }) => ({ task: name, difficulty, accuracy })),
        weights: () => weightsIn(bytes)!,
      })
      if (heads.size > MAX_HEADS) heads.delete(heads.keys().next().value!)
      return 'taken'
    },
    list: () => [...heads.values()].reverse(),
  }
}
