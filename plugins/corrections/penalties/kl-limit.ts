// A limit on the divergence of the policy from the sampler, in place of clipping: no penalty within the limit, and
// beyond it a penalty that grows with the divergence.
//
//   + max(0, slope (KL - limit)) KL, the factor detached;   KL = the mean over the batch's tokens of log mu - log pi
//
// The constraint of DisCO (Li et al. 2025, arXiv 2505.12366): its penalty [KL - limit]^2 with the constants of its
// code, 1e-4 and 1e3. KL estimates the divergence D(mu || pi) of the policy that wrote the tokens. The factor is
// computed once per batch, at its start, by a scoring pass. In a batch of one step this matches the paper; in a batch
// of several steps, the paper measures again in each step. Peers' tokens and those of unknown samplers are neither
// counted nor penalised.
//
// Try it with an unclipped loss: `reinforce`, or the estimator `disco`.

import { z } from 'zod'
import { column, mul, not, sub, where } from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { gapsOf } from '../gaps.ts'
import { KNOWN, LOGPROB } from '../losses/anchors.ts'

const settings = z.strictObject({
  /** Nats per token. */
  limit: z.number().nonnegative().default(1e-4),
  slope: z.number().positive().default(1e3),
})

export default definePlugin({
  name: 'kl_limit',
  kind: 'correction',
  api: 1,
  summary: 'Pulls the policy back once it is beyond a limit from its sampler.',
  settings,
  manifest: { needs: ['score'] },
  create({ limit, slope }) {
    let self: string | undefined
    return {
      group(groups, view) {
        self = view.self
        return groups
      },
      correct(): Correction {
        const counts = mul(KNOWN, not(column('foreign')))
        const divergence = where(counts, sub(column('behaviour'), LOGPROB), 0)
        return {
          penalty: mul(column('kl_limit.pull'), divergence),
          metrics: { divergence },
          columns: { pull: 0 },
        }
      },
      async columns(_advantages, groups, context) {
        const own = groups.filter(({ author }) => self === undefined || author === self)
        const gaps = (await gapsOf(own, context)).flatMap(({ tokens }) => tokens.map(({ gap }) => gap))
        const divergence = -gaps.reduce((sum, gap) => sum + gap, 0) / Math.max(1, gaps.length)
        const pull = Math.max(0, slope * (divergence - limit))
        context.metric('pull', pull)
        return { pull }
      },
    }
  },
})
