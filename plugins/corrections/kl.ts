// A penalty on how far the policy has gone from the one that training began with, or from the sampler.
//
// With d = log pi - log pi_ref of the sampled token (Schulman 2020): k1 = d, k2 = d^2 / 2, k3 = exp(-d) - 1 + d, abs = |d|;
// clamped as in verl: -d to +-20, k3 to +-10. As losses they differ: k2's gradient is that of the reverse divergence for tokens
// of this policy, k3's (GRPO's, the default) is another's, and k1's is 0 on average. The factor 0.001 is verl's. `begin`
// takes a scoring pass of the first weights for every batch: without its adapter for a policy with one, else all weights
// changed for it and back. Tokens of an unknown sampler have no penalty towards it.
//
// With a `target` the factor follows the divergence (kl-control.ts); the given one is what it begins with.

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
} from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { KNOWN, LOGPROB } from './anchors.ts'
import { createKlControl } from './kl-control.ts'

const settings = z
  .strictObject({
    estimator: z.enum(['k1', 'k2', 'k3', 'abs']).default('k3'),
    coefficient: z.number().nonnegative().default(0.001),
    /** `begin`: the policy that training began with; `sampler`: whoever wrote the token. */
    towards: z.enum(['begin', 'sampler']).default('begin'),
    /** Nats per token, by the estimator, that the divergence is steered to; left out, the coefficient stays. */
    target: z.number().positive().optional(),
    /** Rollouts. Over so many, a divergence that is off by a fifth or more changes the coefficient by about a fifth. */
    horizon: z.number().positive().default(10_000),
  })
  .refine(({ coefficient, target }) => target === undefined || coefficient > 0, {
    message: 'a coefficient of 0 cannot be steered to a target',
  })

export default definePlugin({
  name: 'kl',
  kind: 'correction',
  api: 1,
  summary: 'Penalises divergence from the policy that training began with.',
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
