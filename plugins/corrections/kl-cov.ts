// KL-Cov: holds a few tokens near where they were whose advantage and log-prob rise together the most, since these are what
// uses up a policy's entropy.
//
// Cui et al. 2025 (arXiv 2505.22617), constants of verl: the 2e-4 of all tokens with the largest covariance (see
// covariance.ts), one at least, have |log pi - log pi_old| added to their loss, times 1. The paper's loss beside it has no
// clip; here it stands beside any. Its old policy is the one that wrote the rollouts, `sampler`. verl's is the one that
// begins the batch, `proximal`: that one adds nothing in the first step of a batch, so that it takes
// several (training.minibatches). Tokens of an unknown sampler may be chosen, and have no penalty towards it.

import { z } from 'zod'
import { abs, column, mul, sub, where } from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { KNOWN, LOGPROB } from './anchors.ts'
import { covariances, withValue } from './covariance.ts'

const settings = z.strictObject({
  /** Of all tokens of a batch. */
  share: z.number().positive().max(1).default(2e-4),
  coefficient: z.number().nonnegative().default(1),
  /** `sampler`: whoever wrote the token; `proximal`: the policy as it was when the batch began. */
  towards: z.enum(['sampler', 'proximal']).default('sampler'),
})

export default definePlugin({
  name: 'kl_cov',
  kind: 'correction',
  api: 1,
  summary: 'Holds back a few tokens that would use up entropy.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ share, coefficient, towards }) => ({
    correct(): Correction {
      const held = column('kl_cov.held')
      const moved =
        towards === 'proximal'
          ? abs(sub(LOGPROB, column('proximal')))
          : where(KNOWN, abs(sub(LOGPROB, column('behaviour'))), 0)
      const penalty = where(held, mul(coefficient, moved), 0)
      return { penalty, metrics: { penalty }, columns: { held: 0 } }
    },
    async columns(advantages, groups, context) {
      const tokens = await covariances(advantages, groups, context)
      const count = Math.min(tokens.length, Math.max(1, Math.floor(share * tokens.length)))
      // Those that come first win ties: the sort is stable.
      const held = tokens.sort((a, b) => b.covariance - a.covariance).slice(0, count)
      context.metric('held', count)
      const none = groups.map(({ rollouts }) => rollouts.map(() => 0))
      return { held: withValue(none, groups, held, 1) }
    },
  }),
})
