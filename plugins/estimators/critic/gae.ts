// GAE (generalised advantage estimation): an exponentially weighted sum of the critic's TD errors from each token
// on, whitened over the batch.
//
// Schulman et al. 2015 (arXiv 1506.02438) in verl's form: delta_t = r_t + gamma V_{t+1} - V_t and A_t =
// delta_t + gamma lambda A_{t+1}, computed backwards from the end, where V is 0 even for truncated answers.
// Advantages are then whitened by mean and variance over the tokens of the batch (1e-8 under the root). An
// environment's tokens are skipped: they get 0, and the recursion takes V and A from the policy's next token;
// verl leaves them their whitened value, which its loss masks. Rewards belong to the last token of each turn, or
// of the answer. gamma and lambda are 1, verl's defaults, so A is the return minus V. With PPO's 0.95, the first
// of 50 tokens gets only a twelfth of a final reward and depends on V for the rest, which needs an accurate V.
//
// The critic is a linear head on the policy's own hidden states (critic/head.ts). It is fitted to A + V after the
// update, on this node's own rollouts only, since peers' rollouts reflect the returns of other policies. It starts
// at 0, so the first advantages are plain returns. It needs no groups: prompts may have one rollout each, and it
// also learns from groups of equal rewards.

import { z } from 'zod'
import type { Rollout } from '../../../protocol/train/index.ts'
import { tokenScale } from '../batch/token-whitening.ts'
import { defineEstimator, LEARNS_FROM_TIES } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting } from '../shared/groups.ts'
import { tokenRewards } from '../turns/token-rewards.ts'
import { createCritic, headSettings } from './critic.ts'
import { STATE_VERSION } from './state.ts'

const settings = z.strictObject({
  gamma: z.number().positive().max(1).default(1),
  lambda: z.number().min(0).max(1).default(1),
  epsilon: z.number().positive().default(1e-8),
  head: headSettings,
  limit: limitSetting,
})

export default defineEstimator({
  name: 'gae',
  summary: 'Generalised advantage estimation with a value head on hidden states.',
  settings,
  manifest: {
    ...LEARNS_FROM_TIES,
    stateVersion: STATE_VERSION,
    needs: ['score'],
  },
  create({ gamma, lambda, epsilon, head, limit }) {
    const critic = createCritic(head)
    let self: string | undefined
    return {
      save: critic.save,
      load: critic.load,

      group(groups, view) {
        self = view.self
        return groups
      },

      async advantage(groups, context) {
        const isFitted = ({ author }: { author: string }) => self === undefined || author === self
        const seen = await critic.look(groups, { isSeen: isScored, isFitted }, context)
        const raw = groups.map(({ rollouts }, g) =>
          rollouts.map((rollout, r) => advantagesOf(rollout, seen.values[g]![r]!, { gamma, lambda })),
        )
        const targets = raw.map((row, g) =>
          row.map((tokens, r) =>
            tokens.map((advantage, t) =>
              isFitted(groups[g]!) ? advantage + seen.values[g]![r]![t]! : Number.NaN,
            ),
          ),
        )
        critic.hold(seen, targets, context)
        const { centre, factor } = tokenScale(groups, raw, epsilon)
        return groups.map(({ rollouts }, g) =>
          rollouts.map((rollout, r) =>
            isScored(rollout)
              ? Float32Array.from(raw[g]![r]!, (value, t) =>
                  rollout.lossMask?.[t] === 0 ? 0 : bounded((value - centre) * factor, limit),
                )
              : 0,
          ),
        )
      },

      commit({ groups }, context) {
        if (groups.length > 0) critic.fit(context)
        return undefined
      },
    }
  },
})

/** One advantage per token, 0 for an environment's. Empty if `values` is, as for a rollout without a reward. */
export function advantagesOf(
  rollout: Rollout,
  values: Float64Array,
  { gamma, lambda }: { gamma: number; lambda: number },
): Float64Array {
  const rewards = tokenRewards(rollout)
  const advantages = new Float64Array(values.length)
  let [nextValue, nextAdvantage] = [0, 0]
  for (let t = values.length - 1; t >= 0; t--) {
    if (rollout.lossMask?.[t] === 0) continue
    const delta = rewards[t]! + gamma * nextValue - values[t]!
    nextAdvantage = delta + gamma * lambda * nextAdvantage
    nextValue = values[t]!
    advantages[t] = nextAdvantage
  }
  return advantages
}
