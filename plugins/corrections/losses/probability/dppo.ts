// DPPO: drops tokens whose probability, rather than ratio, has moved too far in the direction of the
// advantage.
//
// PRIME-RL's divergence-bounded loss. With p and q the token's probability now and under the sampler, a token
// is out of range if A > 0 and p - q > 0.2, or A <= 0 and p - q < -0.2. Tokens in range contribute -A ratio.
// All tokens get 1e-3 (log ratio)^2 (its `kl_tau`), so a token that went too far is still pulled back. The
// original has a gap: with A < 0, a token that was nearly impossible for the sampler but is likely under the policy
// passes with a ratio of e^11. So the ratio is capped here.

import { z } from 'zod'
import { greater, less, where } from '../../../../protocol/plugin/expression/expression.ts'
import { definePlugin } from '../../../../protocol/plugin/index.ts'
import { ADVANTAGE } from '../anchors.ts'
import { boundedSettings, boundedWhere } from './probability-bound.ts'

const settings = z.strictObject({
  low: z.number().positive().default(0.2),
  high: z.number().positive().default(0.2),
  ...boundedSettings,
})

export default definePlugin({
  name: 'dppo',
  kind: 'correction',
  api: 1,
  summary: 'Policy gradient inside a bound on the change of probability.',
  settings,
  create: ({ low, high, ...rest }) => ({
    correct: () =>
      boundedWhere((moved) => where(greater(ADVANTAGE, 0), greater(moved, high), less(moved, -low)), rest),
  }),
})
