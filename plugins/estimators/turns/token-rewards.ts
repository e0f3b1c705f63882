// Assigns an episode's rewards to tokens: each turn's to its last token or, without turns, the whole reward to the
// answer's last token.
//
// Only tokens that the policy wrote can carry a reward. The reward of a turn without such tokens goes to the last
// one before the turn or, if there is none, to the first one. If an episode's reward was changed after the
// environment gave it, the difference goes to the last turn.

import type { Rollout } from '../../../protocol/train/index.ts'

/** One number per token; they sum to the rollout's reward. All zeros if the policy wrote no token. */
export function tokenRewards({ tokens, lossMask, turns = [], reward }: Rollout): Float64Array {
  const rewards = new Float64Array(tokens.length)
  /** The policy's last token before `end`, or its first token. */
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
