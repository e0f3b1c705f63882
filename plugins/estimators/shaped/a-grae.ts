// A-GRAE: GRPO reweighted by the difficulty of the prompt and the progress of the policy.
//
// Asymmetric group-relative advantage estimation, after its released code. While the batch's mean reward is
// low, easy prompts weigh more; as it rises, hard ones do. Positive advantages are damped until the mean reward
// reaches alpha. The square roots need rewards in [0, 1], so rewards are clamped to that range. Single rollouts
// and groups of equal rewards get zeros; the released code divides by nearly 0 there. In that code alpha is 1 for
// mathematics and 0.5 elsewhere.

import { z } from 'zod'
import { defineEstimator } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, perGroup, std } from '../shared/groups.ts'

const settings = z.strictObject({
  alpha: z.number().positive().default(1),
  epsilon: z.number().positive().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  /** False for the variant that uses centred rewards without dividing. */
  divide: z.boolean().default(true),
  limit: limitSetting,
})

const unit = (reward: number): number => Math.max(0, Math.min(1, reward))

export default defineEstimator({
  name: 'a_grae',
  summary: 'GRPO reweighted by difficulty and by the progress of the batch.',
  settings,
  create: ({ alpha, epsilon, floor, divide, limit }) => ({
    advantage(groups) {
      const rates = groups
        .map(({ rollouts }) => rollouts.filter(isScored).map(({ reward }) => unit(reward)))
        .filter((rewards) => rewards.length > 0)
        .map(mean)
      const progress = mean(rates)
      return perGroup(groups, { limit }, (given) => {
        const rewards = given.map(unit)
        const rate = mean(rewards)
        const scale = divide ? Math.max(std(rewards), floor) + epsilon : 1
        return rewards.map((reward) => {
          const base = (reward - rate) / scale
          if (Math.abs(base) < 1e-9) return 0
          const hard = (0.5 * base) / (Math.sqrt(rate) + epsilon)
          const easy = (0.5 * base) / (1 - Math.sqrt(rate) + epsilon)
          const mixed = (1 - progress) * easy + progress * hard
          return mixed > 0 ? mixed * Math.min(1, progress / alpha) : mixed
        })
      })
    },
  }),
})
