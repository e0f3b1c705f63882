// REINFORCE++: discounted returns, whitened over all tokens of the batch, without a group baseline.
//
// Hu 2025, in verl's form. The reward belongs to the last token, and the return of token t is gamma^(L - 1 -
// t) times it. Mean and variance (Bessel's correction, 1e-8 under the root) are taken over tokens, so long
// answers count more. The method's KL penalty in the reward is left out, because estimators have no access to
// a reference policy.

import { z } from 'zod'
import { defineEstimator, LEARNS_FROM_TIES } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting } from '../shared/groups.ts'
import { tokenScale } from './token-whitening.ts'

const settings = z.strictObject({
  gamma: z.number().positive().max(1).default(1),
  epsilon: z.number().positive().default(1e-8),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'reinforce_plus_plus',
  summary: 'Discounted returns, whitened over the tokens of the batch.',
  settings,
  manifest: LEARNS_FROM_TIES,
  create: ({ gamma, epsilon, limit }) => ({
    advantage(groups) {
      const returns = groups.map(({ rollouts }) =>
        rollouts.map((rollout) => {
          const { length } = rollout.tokens
          const reward = isScored(rollout) ? rollout.reward : Number.NaN
          return Float64Array.from({ length }, (_, t) => reward * gamma ** (length - 1 - t))
        }),
      )
      const { centre, factor } = tokenScale(groups, returns, epsilon)
      return returns.map((row) =>
        row.map((tokens) => Float32Array.from(tokens, (value) => bounded((value - centre) * factor, limit))),
      )
    },
  }),
})
