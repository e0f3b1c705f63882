// The per-token log-ratio of the policy to the sampler, for hooks that work on groups instead of columns.
//
// Log-probs are those of the policy before the update, at temperature 1, from a scoring pass.

import type { Context } from '../../protocol/plugin/index.ts'
import { type Group, type Rollout, writtenPositions } from '../../protocol/train/index.ts'

export interface Gaps {
  rollout: Rollout
  /** log policy - log sampler of each token that the policy wrote, with its index in the completion. */
  tokens: { at: number; gap: number }[]
}

/** Gaps of all rollouts whose sampler is known. */
export async function gapsOf(groups: readonly Group[], context: Context): Promise<Gaps[]> {
  const known = groups.flatMap(({ conditioning, rollouts }) =>
    rollouts.flatMap((rollout) =>
      rollout.behaviourLogprobs ? [{ conditioning, rollout, logprobs: rollout.behaviourLogprobs }] : [],
    ),
  )
  const scored = await context.score(
    known.map(({ conditioning, rollout }) => ({
      conditioning: rollout.conditioning ?? conditioning,
      completion: rollout.tokens,
    })),
  )
  return known.map(({ rollout, logprobs }, i) => ({
    rollout,
    tokens: writtenPositions(rollout).map((at) => ({ at, gap: scored[i]!.logprobs[at]! - logprobs[at]! })),
  }))
}

/** The tokens of each turn, with the sum of their gaps. A rollout without turns is one turn. */
export function turnsOf({ rollout, tokens }: Gaps): { tokens: Gaps['tokens']; sum: number }[] {
  const { turns = [{ start: 0, length: rollout.tokens.length }] } = rollout
  return turns.map(({ start, length }) => {
    const inside = tokens.filter(({ at }) => at >= start && at < start + length)
    return { tokens: inside, sum: inside.reduce((sum, { gap }) => sum + gap, 0) }
  })
}
