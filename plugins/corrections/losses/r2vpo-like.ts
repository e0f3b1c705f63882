// Ratio variance instead of clipping: the policy gradient with a penalty on the deviation of ratios from 1. The
// penalty's weight rises while the deviation exceeds a bound.
//
//   maximise E[ratio A] - coefficient (E[(ratio - 1)^2] - bound)
//   after a step: coefficient <- max(0, coefficient + rate (E[(ratio - 1)^2] - bound))
//
// After Luo et al. 2026 (Ratio-Variance Regularized Policy Optimization, arXiv 2601.03320 and 2605.26784). The
// abstracts give the constraint and say that it is solved as a primal-dual problem. The dual update above is plain dual
// ascent, which we assume but could not check, and the constants are ours. The paper's ratio is to the policy that
// wrote the rollout, fresh or from a buffer, so the default anchor is `behaviour`: do not combine it with `tis`, which
// would count the ratio twice. In a batch of one step, `proximal` has ratios of 1 and no constraint. The paper clips
// nothing; here a token whose log-ratio is beyond `limit` adds no gradient, since otherwise a single peer with made-up
// log-probs could dominate a step.
//
// Try it with stale or foreign rollouts: clipping discards distant tokens, while this only gives them less weight.

import { z } from 'zod'
import {
  abs,
  clamp,
  column,
  exp,
  greater,
  mul,
  neg,
  sub,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { readState, writeState } from '../../state.ts'
import { ADVANTAGE, anchorLogprob, anchorSetting, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  /** Weight of the penalty at the start. */
  coefficient: z.number().nonnegative().default(0.5),
  /** Allowed mean of (ratio - 1)^2. A ratio of 1.2 or 0.8, where PPO clips, has 0.04. */
  bound: z.number().positive().default(0.02),
  /** Step size of the dual update; 0 for a constant weight. */
  rate: z.number().nonnegative().default(1),
  /** Largest log-ratio that counts, in nats. */
  limit: z.number().positive().max(20).default(3),
  anchor: anchorSetting.default('behaviour'),
})

const savedSchema = z.number().nonnegative()
const MEASURED = 'r2vpo_like.variance'

export default definePlugin({
  name: 'r2vpo_like',
  kind: 'correction',
  api: 1,
  summary: 'The policy gradient with a bound on the variance of ratios.',
  settings,
  create({ coefficient, bound, rate, limit, anchor }) {
    let current = coefficient
    return {
      correct(): Correction {
        const gap = sub(LOGPROB, anchorLogprob(anchor))
        const ratio = exp(clamp(gap, -limit, limit))
        const variance = mul(sub(ratio, 1), sub(ratio, 1))
        return {
          loss: neg(mul(ratio, ADVANTAGE)),
          penalty: mul(column('r2vpo_like.coefficient'), variance),
          metrics: { ratio, variance, beyond: greater(abs(gap), limit) },
          columns: { coefficient },
        }
      },
      columns(_advantages, _groups, context) {
        context.metric('coefficient', current)
        return { coefficient: current }
      },
      commit({ metrics }) {
        const variance = metrics[MEASURED]
        if (variance !== undefined && Number.isFinite(variance))
          current = Math.max(0, current + rate * (variance - bound))
        return undefined
      },
      save: () => writeState(current),
      load(state) {
        current = readState(savedSchema, state)
      },
    }
  },
})
