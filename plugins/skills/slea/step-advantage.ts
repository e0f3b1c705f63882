// Per-turn advantages (GiGPO, as used by SLEA-RL, arXiv 2603.18079): discounted returns are compared between turns of
// a group in the same state, and added to the episode's advantage on the turn's tokens.

import type { Group, Turn } from '../../../protocol/train/index.ts'

export interface StepOptions {
  /** Weight of the step advantage relative to the episode's. */
  weight: number
  discount: number
  normalise: 'mean' | 'std'
}

/** The discounted return from each turn on. */
export function returnsOf(turns: readonly Pick<Turn, 'reward'>[], discount: number): number[] {
  const returns: number[] = []
  let later = 0
  for (const { reward } of [...turns].reverse()) {
    later = reward + discount * later
    returns.unshift(later)
  }
  return returns
}

/** Adds the turns' advantages to the given ones; a rollout without turns keeps its own. */
export function withTurns(
  group: Group,
  row: readonly (number | Float32Array)[],
  { weight, discount, normalise }: StepOptions,
): Array<number | Float32Array> {
  const byState = new Map<string, number[]>()
  const returns = group.rollouts.map(({ turns = [] }) => returnsOf(turns, discount))
  group.rollouts.forEach(({ turns = [] }, r) => {
    turns.forEach(({ state }, t) => {
      byState.set(state, [...(byState.get(state) ?? []), returns[r]![t]!])
    })
  })
  const compared = (state: string, value: number): number => {
    const values = byState.get(state)!
    // A turn alone in its state has no baseline.
    if (values.length < 2) return 0
    const mean = values.reduce((a, b) => a + b, 0) / values.length
    if (normalise === 'mean') return value - mean
    const variance = values.reduce((sum, other) => sum + (other - mean) ** 2, 0) / (values.length - 1)
    return (value - mean) / Math.max(1e-3, Math.sqrt(variance))
  }
  return group.rollouts.map(({ turns = [], tokens }, r) => {
    const episode = row[r]!
    if (turns.length === 0) return episode
    const values =
      typeof episode === 'number' ? new Float32Array(tokens.length).fill(episode) : Float32Array.from(episode)
    turns.forEach(({ state, start, length }, t) => {
      const step = weight * compared(state, returns[r]![t]!)
      for (let i = start; i < start + length; i++) values[i]! += step
    })
    return values
  })
}
