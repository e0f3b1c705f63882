// NoLoCo (arXiv 2506.10911): each node meets one other, averages what both did, and takes a Nesterov step that also
// pulls the two together.

import type { JoinRule } from './contract.ts'

export interface PairsOptions {
  /** α, of what the last step did. */
  momentum: number
  /** β, the outer learning rate. */
  rate: number
  /** γ, of the pull; between α and √(2 + α²) for pairs. */
  pull: number
}

export function createPairs({ momentum, rate, pull }: PairsOptions): JoinRule {
  let step: Float32Array | undefined
  return {
    join({ weights, start }, heads) {
      const [other] = heads
      const last = step ?? new Float32Array(weights.length)
      const next = new Float32Array(weights.length)
      const joined = start.slice()
      for (let i = 0; i < weights.length; i++) {
        const own = weights[i]! - start[i]!
        const theirs = other?.start ? other.weights[i]! - other.start[i]! : own
        const apart = other?.start ? (start[i]! - other.start[i]!) / 2 : 0
        next[i] = momentum * last[i]! + (rate * (own + theirs)) / 2 - pull * apart
        joined[i]! += next[i]!
      }
      step = next
      return joined
    },
  }
}
