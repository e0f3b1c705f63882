// Where an episode's rewards fall: each turn's on its last token, the whole reward on the answer's last token where there
// are no turns.
//
// Only tokens that the policy wrote can bear a reward. A turn without one leaves its reward to the last token before it, or to
// the first of all. What something added to an episode's reward after the environment gave it falls on the last turn.

import type { Rollout } from '../../protocol/train/index.ts'

/** One number a token; zeros alone if the policy wrote none of them. Sums to the rollout's reward, else. */
export function tokenRewards({ tokens, lossMask, turns = [], reward }: Rollout): Float64Array {
  const rewards = new Float64Array(tokens.length)
  /** The last of the policy's tokens before `end`, or its first. */
  const bearer = (end: number): number => {
    for (let t = Math.min(end, tokens.length) - 1; t >= 0; t--) if (lossMask?.[t] !== 0) return t
    return lossMask ? lossMask.findIndex((mine) => mine !== 0) : 0
  }
  const give = (end: number, part: number): void => {
    const t = bearer(end)
    if (t >= 0 && t < tokens.length) rewards[t]! += part
  }
  for (const { start, length, reward: gained } of turns) give(start + length, gained)
  give(tokens.length, reward - turns.reduce((sum, turn) => sum + turn.reward, 0))
  return rewards
}
