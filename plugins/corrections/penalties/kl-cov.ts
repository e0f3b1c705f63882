// KL-Cov: keeps the few tokens whose advantage and log-prob are most strongly correlated near their old
// probability, because such tokens reduce the policy's entropy most.
//
// Cui et al. 2025 (arXiv 2505.22617), with verl's constants: the tokens with the largest covariance (see
// covariance.ts), 2e-4 of all tokens but at least one, have 1 times |log pi - log pi_old| added to their loss. The
// paper combines this with an unclipped loss; here it works with any loss. The paper's old policy is the one that
// wrote the rollouts, `sampler`. verl's is the policy at the start of the batch, `proximal`; it adds nothing in
// the first step of a batch, so batches need several steps (training.minibatches). Tokens with an unknown sampler
// may be chosen, but get no penalty towards it.

import { z } from 'zod'
import { abs, column, mul, sub, where } from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { covariances, withValue } from '../covariance.ts'
import { KNOWN, LOGPROB } from '../losses/anchors.ts'

const settings = z.strictObject({
  /** Share of all tokens of a batch. */
  share: z.number().positive().max(1).default(2e-4),
  coefficient: z.number().nonnegative().default(1),
  /** `sampler`: the policy that wrote the token. `proximal`: the policy at the start of the batch. */
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
      // Earlier tokens win ties: the sort is stable.
      const held = tokens.sort((a, b) => b.covariance - a.covariance).slice(0, count)
      context.metric('held', count)
      const none = groups.map(({ rollouts }) => rollouts.map(() => 0))
      return { held: withValue(none, groups, held, 1) }
    },
  }),
})
