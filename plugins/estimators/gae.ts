// GAE: how much better each token did than a critic expected, looking ahead by a fading amount; whitened over the batch.
//
// Schulman et al. 2015 (arXiv 1506.02438) as verl has it: delta_t = r_t + gamma V_{t+1} - V_t, A_t = delta_t + gamma lambda
// A_{t+1}, from the end, where V is 0, of answers that were cut off too; then mean and variance over the tokens of the
// batch (whitening, 1e-8 under the root). An environment's tokens are skipped: V and A of what comes after are carried over them,
// and they get 0, where verl leaves them what whitening makes of them for the loss to mask. Rewards fall on the last token
// of each turn, or of the answer. gamma and lambda are 1, verl's defaults: A is then the return less V. PPO's 0.95 leaves the first
// of 50 tokens a twelfth of a reward at the end, and the rest to V, which has to be good for it.
//
// The critic is a linear head on the policy's own hidden states (critic/head.ts), fitted to A + V after the update, on this node's
// own rollouts: peers' say what other policies would get. It starts at 0, so that the first advantages are
// returns. Needs no groups: prompts may have one rollout each, and groups of equal rewards are learnt from.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import type { Rollout } from '../../protocol/train/index.ts'
import { createCritic, headSettings } from './critic/critic.ts'
import { bounded, isScored, limitSetting } from './groups.ts'
import { tokenRewards } from './token-rewards.ts'
import { tokenScale } from './token-whitening.ts'

const settings = z.strictObject({
  gamma: z.number().positive().max(1).default(1),
  lambda: z.number().min(0).max(1).default(1),
  epsilon: z.number().positive().default(1e-8),
  head: headSettings,
  limit: limitSetting,
})

export default definePlugin({
  name: 'gae',
  kind: 'estimator',
  api: 1,
  summary: 'Generalised advantages over a critic, a value head on hidden states.',
  settings,
  manifest: {
    signal: 'any',
    needs: ['score'],
    conflicts: [{ with: 'correction/zero_signal', because: 'it learns from groups of equal rewards' }],
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

/** One a token, 0 at an environment's; `values` is empty for a rollout without a reward, and so is what comes of it. */
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
