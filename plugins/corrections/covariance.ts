// The covariance of each token's advantage and log-prob, by which Clip-Cov and KL-Cov choose tokens.
//
// Cui et al. 2025 (The Entropy Mechanism of Reinforcement Learning, arXiv 2505.22617): (A - mean A)(log pi -
// mean log pi), with means over all tokens of the batch that the policy wrote. Log-probs are those of the
// policy before the update, at temperature 1, from a scoring pass.

import type { Advantages, Context } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'

export interface Token {
  /** Position: index of the group, of the rollout in the group, and (`at`) of the token in the completion. */
  group: number
  rollout: number
  at: number
  covariance: number
}

/** One entry per token that the policy wrote, in order. */
export async function covariances(
  advantages: Advantages,
  groups: readonly Group[],
  context: Context,
): Promise<Token[]> {
  const rows = groups.flatMap(({ rollouts, conditioning }, group) =>
    rollouts.map((written, rollout) => ({ written, conditioning, group, rollout })),
  )
  const scored = await context.score(
    rows.map(({ written, conditioning }) => ({
      conditioning: written.conditioning ?? conditioning,
      completion: written.tokens,
    })),
  )
  const tokens = rows.flatMap(({ written, group, rollout }, i) =>
    Array.from(written.tokens, (_, at) => ({
      group,
      rollout,
      at,
      advantage: valueAt(advantages[group]![rollout]!, at),
      logprob: scored[i]!.logprobs[at]!,
    })).filter(({ at }) => written.lossMask?.[at] !== 0),
  )
  const meanOf = (read: (token: (typeof tokens)[number]) => number): number =>
    tokens.reduce((sum, token) => sum + read(token), 0) / Math.max(1, tokens.length)
  const [meanAdvantage, meanLogprob] = [
    meanOf(({ advantage }) => advantage),
    meanOf(({ logprob }) => logprob),
  ]
  return tokens.map(({ group, rollout, at, advantage, logprob }) => ({
    group,
    rollout,
    at,
    covariance: (advantage - meanAdvantage) * (logprob - meanLogprob),
  }))
}

/** Returns the values with `value` set at each of the tokens; rollouts without such tokens stay unchanged. */
export function withValue(
  values: Advantages,
  groups: readonly Group[],
  tokens: readonly Token[],
  value: number,
): Advantages {
  const changed: Advantages = values.map((row) => [...row])
  const own = new Set<Float32Array>()
  for (const { group, rollout, at } of tokens) {
    let row = changed[group]![rollout]!
    if (typeof row === 'number' || !own.has(row)) {
      row =
        typeof row === 'number'
          ? new Float32Array(groups[group]!.rollouts[rollout]!.tokens.length).fill(row)
          : row.slice()
      own.add(row)
      changed[group]![rollout] = row
    }
    row[at] = value
  }
  return changed
}

function valueAt(advantage: number | Float32Array, token: number): number {
  return typeof advantage === 'number' ? advantage : advantage[token]!
}
