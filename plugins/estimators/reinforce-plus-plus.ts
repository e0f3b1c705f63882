// REINFORCE++: discounted returns, whitened over all tokens of the batch. No group baseline.
//
// Hu 2025. The reward falls on the last token, the return of token t is gamma^(L - 1 - t) times it; mean and variance
// (Bessel's correction, 1e-8 under the root) are taken over tokens, so long answers count more: verl's form. The
// method's KL penalty inside the reward is not here, there being no reference policy among a plugin's data.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { bounded, isScored, limitSetting } from './groups.ts'
import { tokenScale } from './token-whitening.ts'

const settings = z.strictObject({
  gamma: z.number().positive().max(1).default(1),
  epsilon: z.number().positive().default(1e-8),
  limit: limitSetting,
})

export default definePlugin({
  name: 'reinforce_plus_plus',
  kind: 'estimator',
  api: 1,
  summary: 'Discounted returns, whitened over the tokens of the batch.',
  settings,
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
