// OTB: reward minus a separate baseline for each token position. It minimises variance by weighting each answer by
// the size of its gradient up to that position.
//
// Optimal token baseline (arXiv 2602.07078), after verl's code. It uses only the gradient at the logits: w =
// 1 - 2 pi + S is a token's squared norm, where S is the sum of pi^2 over the vocabulary, and W is the sum of
// an answer's w up to a position. The baseline of a position is the mean reward of the answers that reach it,
// weighted by W. Positions count the policy's own tokens, as in verl's multi-turn variant; an environment's
// tokens have no position. Probabilities are those of the policy before the update, at temperature 1, from a
// scoring pass. Where only one answer reaches a position, it is its own baseline; with `zeroTail` it has no
// baseline there and gets the whole reward (verl has used both as a default). Not implemented: importance
// weights on w, and rewards and W by turn. A group of one gets zeros, as with other estimators here; verl gives
// it the raw reward.

import { z } from 'zod'
import type { Context, Scored } from '../../../protocol/plugin/index.ts'
import { type Group, isZeroSignal, type Rollout, writtenPositions } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting } from '../shared/groups.ts'

const settings = z.strictObject({
  zeroTail: z.boolean().default(false),
  epsilon: z.number().positive().default(1e-8),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'otb',
  summary: 'Reward minus a minimum-variance baseline per token position.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ zeroTail, epsilon, limit }) => ({
    async advantage(groups, context) {
      const scores = await scoresOf(groups, context)
      return groups.map(({ rollouts }, g) => {
        const counted = rollouts.flatMap((rollout, r) =>
          isScored(rollout) ? [{ rollout, energies: energiesOf(rollout, scores[g]![r]!) }] : [],
        )
        if (counted.length < 2 || isZeroSignal(counted.map(({ rollout }) => rollout.reward)))
          return rollouts.map(() => 0)
        const baselines = baselinesOf(counted, epsilon)
        const lengths = counted.map(({ energies }) => energies.length).sort((a, b) => b - a)
        if (zeroTail) baselines.fill(0, lengths[1])
        return rollouts.map((rollout) => {
          if (!isScored(rollout)) return 0
          const row = new Float32Array(rollout.tokens.length)
          for (const [index, t] of writtenPositions(rollout).entries())
            row[t] = bounded(rollout.reward - baselines[index]!, limit)
          return row
        })
      })
    },
  }),
})

/** Scores by group and rollout. */
async function scoresOf(groups: readonly Group[], context: Context): Promise<Scored[][]> {
  const items = groups.flatMap(({ conditioning, rollouts }) =>
    rollouts.map((rollout) => ({
      conditioning: rollout.conditioning ?? conditioning,
      completion: rollout.tokens,
    })),
  )
  const scored = items.length > 0 ? await context.score(items) : []
  let next = 0
  return groups.map(({ rollouts }) => rollouts.map(() => scored[next++]!))
}

/** W at each of the policy's own tokens. */
function energiesOf(rollout: Rollout, { logprobs, collisions }: Scored): Float64Array {
  let energy = 0
  return Float64Array.from(writtenPositions(rollout), (t) => {
    // Rounding must not make the norm of a near-certain token negative.
    energy += Math.max(0, 1 - 2 * Math.exp(logprobs[t]!) + collisions[t]!)
    return energy
  })
}

/** One baseline per position, up to the end of the longest answer. */
function baselinesOf(
  counted: readonly { rollout: Rollout; energies: Float64Array }[],
  epsilon: number,
): Float64Array {
  const longest = Math.max(...counted.map(({ energies }) => energies.length))
  return Float64Array.from({ length: longest }, (_, t) => {
    const there = counted.filter(({ energies }) => t < energies.length)
    const total = there.reduce((sum, { energies }) => sum + energies[t]!, 0)
    const weighted = there.reduce((sum, { rollout, energies }) => sum + rollout.reward * energies[t]!, 0)
    return weighted / (total + epsilon)
  })
}
