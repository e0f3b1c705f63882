// A penalty on the divergence from the initial policy or from the sampler.
//
// With d = log pi - log pi_ref of the sampled token (Schulman 2020): k1 = d, k2 = d^2 / 2, k3 = exp(-d) - 1 +
// d, abs = |d|. Clamped as in verl: -d to +-20, k3 to +-10. As losses they differ: on-policy, k2 has the gradient
// of the reverse divergence, k3 (GRPO's, the default) has a different one, and that of k1 is 0 on average. The
// coefficient of 0.001 is verl's. `begin` needs a scoring pass under the initial weights for every batch: with
// the adapter switched off if the policy has one, otherwise by swapping all weights in and out. Tokens with an
// unknown sampler get no penalty towards it.
//
// With a `target`, the coefficient follows the divergence (kl-control.ts), starting from the configured
// value.

import { z } from 'zod'
import {
  abs,
  add,
  clamp,
  column,
  type Expression,
  exp,
  mul,
  neg,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { KNOWN, LOGPROB } from '../losses/anchors.ts'
import { createKlControl } from './kl-control.ts'

const settings = z
  .strictObject({
    estimator: z.enum(['k1', 'k2', 'k3', 'abs']).default('k3'),
    coefficient: z.number().nonnegative().default(0.001),
    /** `begin`: the policy that training started with. `sampler`: the policy that wrote the token. */
    towards: z.enum(['begin', 'sampler']).default('begin'),
    /** Target divergence in nats per token, by `estimator`. If left out, the coefficient stays constant. */
    target: z.number().positive().optional(),
    /** In rollouts: over this many, a divergence off by 20 % or more moves the coefficient by about 20 %. */
    horizon: z.number().positive().default(10_000),
  })
  .refine(({ coefficient, target }) => target === undefined || coefficient > 0, {
    message: 'a target needs a coefficient above 0',
  })

export default definePlugin({
  name: 'kl',
  kind: 'correction',
  api: 1,
  summary: 'Penalises divergence from the policy that training started with.',
  settings,
  create({ estimator, coefficient, towards, target, horizon }) {
    const gap = sub(LOGPROB, column(towards === 'begin' ? 'reference' : 'behaviour'))
    const divergence = DIVERGENCES[estimator](towards === 'begin' ? gap : where(KNOWN, gap, 0))
    const metrics = { divergence }
    if (target === undefined)
      return { correct: (): Correction => ({ penalty: mul(coefficient, divergence), metrics }) }
    return {
      correct: () => ({
        penalty: mul(column('kl.coefficient'), divergence),
        metrics,
        columns: { coefficient },
      }),
      ...createKlControl({ coefficient, target, horizon, measured: 'kl.divergence' }),
    }
  },
})

const DIVERGENCES: Record<z.infer<typeof settings>['estimator'], (gap: Expression) => Expression> = {
  k1: (gap) => gap,
  k2: (gap) => mul(0.5, mul(gap, gap)),
  k3(gap) {
    const near = clamp(neg(gap), -20, 20)
    return clamp(sub(add(exp(near), -1), near), -10, 10)
  },
  abs,
}
