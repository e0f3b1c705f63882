// Advantages for the segments of a tree of rollouts. Rollouts are leaves; they branch where their tokens first differ.

import type { Rollout } from '../../../protocol/train/index.ts'

type Leaf = Pick<Rollout, 'tokens' | 'reward' | 'prefix'>

/** One advantage per token of each rollout, summed over the leaves that share it, in the row that trains on it. */
export function treeAdvantages(leaves: readonly Leaf[]): Float32Array[] {
  const rewards = relativeRewards(leaves)
  const shared = leaves.map((one) => leaves.map((other) => sharedLength(one.tokens, other.tokens)))
  const value = (below: readonly number[]): number =>
    below.reduce((sum, leaf) => sum + rewards[leaf]!, 0) / below.length
  return leaves.map(({ tokens }, i) => {
    /** Leaves that begin with the first `length` tokens of this one. */
    const below = (length: number): number[] => [...leaves.keys()].filter((j) => shared[i]![j]! >= length)
    const forks = [...new Set(shared[i]!)].filter((at) => at < tokens.length).sort((a, b) => a - b)
    const ends = [...forks, tokens.length]
    const all = new Float32Array(tokens.length)
    let [start, before] = [0, 0]
    for (const end of ends) {
      if (end === start) continue
      const leavesOf = below(end)
      const here = value(leavesOf)
      const rows = (t: number): number => leavesOf.filter((leaf) => (leaves[leaf]!.prefix ?? 0) <= t).length
      for (let t = start; t < end; t++)
        all[t] = ((2 * here - before) * Math.sqrt(leavesOf.length)) / Math.max(1, rows(t))
      start = end
      before = here
    }
    return all
  })
}

/** Each reward minus the mean of all others. The mean of these, which is the question's value, is 0. */
function relativeRewards(leaves: readonly Leaf[]): number[] {
  const sum = leaves.reduce((total, { reward }) => total + reward, 0)
  return leaves.map(({ reward }) => (leaves.length < 2 ? 0 : reward - (sum - reward) / (leaves.length - 1)))
}

function sharedLength(a: Int32Array, b: Int32Array): number {
  const least = Math.min(a.length, b.length)
  for (let t = 0; t < least; t++) if (a[t] !== b[t]) return t
  return least
}
