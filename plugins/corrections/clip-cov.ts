// Clip-Cov: excludes a few tokens whose advantage and log-prob are strongly correlated from the update, because
// such tokens reduce the policy's entropy most.
//
// Cui et al. 2025 (arXiv 2505.22617), with verl's constants: random tokens whose covariance (see covariance.ts) is
// between 1 and 5 are masked, 2e-4 of all tokens but at least one. In a batch of one step nothing has been clipped
// yet, so tokens that the loss clips need no separate treatment.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { covariances, type Token, withValue } from './covariance.ts'

const settings = z.strictObject({
  share: z.number().positive().max(1).default(2e-4),
  low: z.number().default(1),
  high: z.number().default(5),
})

export default definePlugin({
  name: 'clip_cov',
  kind: 'correction',
  api: 1,
  summary: 'Masks a few tokens that would use up entropy.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ share, low, high }) => ({
    async modify(advantages, groups, context) {
      const tokens = await covariances(advantages, groups, context)
      const open = tokens.filter(({ covariance }) => covariance > low && covariance < high)
      const random = context.random(`tokens/${context.step}`)
      const count = Math.min(open.length, Math.max(1, Math.floor(share * tokens.length)))
      const spared: Token[] = Array.from(
        { length: count },
        () => open.splice(Math.floor(random() * open.length), 1)[0]!,
      )
      context.metric('spared', count)
      return withValue(advantages, groups, spared, 0)
    },
  }),
})
