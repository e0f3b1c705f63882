// ACE: penalises wrong answers more strongly if training has made them more likely.
//
//   where A < 0: A (1 + strength softplus(c)),   c = log pi(answer) - log pi_begin(answer)
//
// After Xu et al. 2026 (Asymmetric Confidence-aware Error Penalty, arXiv 2602.21420). The abstract defines c, the sum
// over the answer, and says that it modulates negative advantages. The factor 1 + strength softplus(c) is from
// third-party descriptions of the paper, and the paper's strength is not known to us. Two further points are ours: c is
// bounded by `limit`, since the sum grows with the length of the answer, and it changes with the policy within a batch.
// `begin` is the initial policy, so every batch costs a scoring pass under it.
//
// Try it where pass@k or entropy falls while accuracy rises, which means that a few confident mistakes crowd out
// everything else. In the first steps c is 0 and all wrong answers weigh 1 + 0.69 strength.

import { z } from 'zod'
import {
  add,
  clamp,
  column,
  detach,
  exp,
  greater,
  less,
  log,
  mul,
  rowSum,
  sub,
  where,
} from '../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { ADVANTAGE, LOGPROB } from './losses/anchors.ts'

const settings = z.strictObject({
  strength: z.number().nonnegative().default(1),
  /** Largest confidence shift that counts, in nats. */
  limit: z.number().positive().max(20).default(5),
})

export default definePlugin({
  name: 'ace_like',
  kind: 'correction',
  api: 1,
  summary: 'Pushes harder against mistakes that training has made likely.',
  settings,
  create: ({ strength, limit }) => ({
    correct(): Correction {
      const shift = detach(rowSum(sub(LOGPROB, column('reference'))))
      const softplus = log(add(1, exp(clamp(shift, -limit, limit))))
      const isWrong = less(ADVANTAGE, 0)
      return {
        weight: detach(where(isWrong, add(1, mul(strength, softplus)), 1)),
        metrics: { overconfident: mul(isWrong, greater(shift, 0)) },
      }
    },
  }),
})
