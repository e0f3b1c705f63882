// Shared by turn-level estimators: computes the returns of a rollout's turns, and spreads per-turn values over
// tokens.
//
// A rollout without turns is one turn. If a plugin changed an episode's reward after the environment gave it,
// the difference goes to the last turn, so that the turns' rewards always sum to the rollout's reward.

import type { Rollout } from '../../../protocol/train/index.ts'
import { bounded, isScored } from '../shared/groups.ts'

export interface Step {
  /** Index of its rollout in the group. */
  rollout: number
  /** From 0. */
  turn: number
  state: string
  start: number
  length: number
  /** Discounted sum of this turn's reward and later ones. */
  toGo: number
  /** The whole rollout's reward. */
  reward: number
}

/** The steps of all scored rollouts of a group, in order. */
export function stepsOf(rollouts: readonly Rollout[], gamma: number): Step[] {
  return rollouts.flatMap((rollout, index) => (isScored(rollout) ? stepsIn(rollout, index, gamma) : []))
}

function stepsIn({ turns = [], tokens, reward }: Rollout, index: number, gamma: number): Step[] {
  if (turns.length === 0)
    return [{ rollout: index, turn: 0, state: '', start: 0, length: tokens.length, toGo: reward, reward }]
  let toGo = reward - turns.reduce((sum, turn) => sum + turn.reward, 0)
  const steps: Step[] = []
  for (let turn = turns.length - 1; turn >= 0; turn--) {
    const { state, start, length, reward: gained } = turns[turn]!
    toGo = gained + (turn === turns.length - 1 ? toGo : gamma * toGo)
    steps.unshift({ rollout: index, turn, state, start, length, toGo, reward })
  }
  return steps
}

/** Assigns each step's value to its tokens, 0 elsewhere; gives one value per rollout if none has turns. */
export function spread(
  rollouts: readonly Rollout[],
  steps: readonly Step[],
  values: readonly number[],
  limit: number,
): Array<number | Float32Array> {
  const rows: Array<number | Float32Array> = rollouts.map(({ turns, tokens }) =>
    turns?.length ? new Float32Array(tokens.length) : 0,
  )
  steps.forEach(({ rollout, start, length }, i) => {
    const value = bounded(values[i]!, limit)
    const row = rows[rollout]!
    if (typeof row === 'number') rows[rollout] = value
    else row.fill(value, start, start + length)
  })
  return rows
}

/** Indexes of the steps, grouped by key. Steps without a key are left out. */
export function together(
  steps: readonly Step[],
  key: (step: Step, index: number) => string | undefined,
): number[][] {
  const clusters = new Map<string, number[]>()
  for (const [i, step] of steps.entries()) {
    const name = key(step, i)
    if (name === undefined) continue
    const cluster = clusters.get(name)
    if (cluster) cluster.push(i)
    else clusters.set(name, [i])
  }
  return [...clusters.values()]
}
