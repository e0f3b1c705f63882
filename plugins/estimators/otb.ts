// OTB: reward minus a baseline of each place's own, the one of least variance by how much every answer's gradient has moved
// up to there.
//
// Optimal token baseline (arXiv 2602.07078), after verl's code. Of a token's gradient the part at the logits alone is
// looked at: w = 1 - 2 pi + S is its squared norm, with S the sum of pi^2 over the vocabulary, and W is the sum of an
// answer's w up to a place. The baseline of a place is the mean reward of the answers that reach it, weighted by W.
// Probabilities are those of the policy before the update, at temperature 1, from a scoring pass. Where one answer alone
// goes on it is its own baseline; with `zeroTail` it has none there, and the whole reward (verl has had both as a default).
// Not here: importance weights on w, and rewards and W by turn. A group of one gets zeros, as with other estimators here;
// verl leaves it the reward.

import { z } from 'zod'
import { type Context, definePlugin, type Scored } from '../../protocol/plugin/index.ts'
import { type Group, isZeroSignal, type Rollout } from '../../protocol/train/index.ts'
import { bounded, isScored, limitSetting } from './groups.ts'

const settings = z.strictObject({
  zeroTail: z.boolean().default(false),
  epsilon: z.number().positive().default(1e-8),
  limit: limitSetting,
})

export default definePlugin({
  name: 'otb',
  kind: 'estimator',
  api: 1,
  summary: "Reward minus each place's own baseline of least variance.",
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
        const lengths = counted.map(({ rollout }) => rollout.tokens.length).sort((a, b) => b - a)
        if (zeroTail) baselines.fill(0, lengths[1])
        return rollouts.map((rollout) =>
          isScored(rollout)
            ? Float32Array.from(rollout.tokens, (_, t) =>
                rollout.lossMask?.[t] === 0 ? 0 : bounded(rollout.reward - baselines[t]!, limit),
              )
            : 0,
        )
      })
    },
  }),
})

/** By group and rollout. */
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

/** W at every place; what an environment wrote adds nothing to it. */
function energiesOf({ tokens, lossMask }: Rollout, { logprobs, collisions }: Scored): Float64Array {
  let energy = 0
  return Float64Array.from(tokens, (_, t) => {
    // Not below 0, where rounding might take a token that was certain.
    if (lossMask?.[t] !== 0) energy += Math.max(0, 1 - 2 * Math.exp(logprobs[t]!) + collisions[t]!)
    return energy
  })
}

/** One a place, up to the longest answer's end. */
function baselinesOf(
  counted: readonly { rollout: Rollout; energies: Float64Array }[],
  epsilon: number,
): Float64Array {
  const longest = Math.max(...counted.map(({ energies }) => energies.length))
  return Float64Array.from({ length: longest }, (_, t) => {
    const there = counted.filter(
      ({ rollout, energies }) => t < energies.length && rollout.lossMask?.[t] !== 0,
    )
    const total = there.reduce((sum, { energies }) => sum + energies[t]!, 0)
    const weighted = there.reduce((sum, { rollout, energies }) => sum + rollout.reward * energies[t]!, 0)
    return weighted / (total + epsilon)
  })
}
