// Rejection: drops tokens or rows whose sampler is too far away. A token must pass all configured tests.
//
// verl's rejection sampling (token and sequence options on k1, k2 and k3, AND-ed) and PRIME-RL's masks, whose
// bounds are the default: a token's ratio in [0.125, 8], the geometric mean of a row's ratios in [0.1, 10],
// and a veto on rows with any ratio above 100. It sets no weights: combine it with `tis` or a loss that
// contains the ratio. One token test together with `tis` capped at its upper bound is masked importance sampling
// (IcePop). Ratios are this policy over the sampler, the inverse of verl's k1: verl's bounds "0.5_5" are low
// 0.2 and high 2 here. `policy` selects the policy at the start of the batch or, as in PRIME-RL, the current
// one; in a batch of one step they are the same.

import { z } from 'zod'
import { column, detach, mul, not, sub, where } from '../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { KNOWN, LOGPROB } from './losses/anchors.ts'
import { keptBy, PRIME_RL_TESTS, rejectedBy, testSetting } from './rejection-tests.ts'

const settings = z.strictObject({
  tests: z.array(testSetting).min(1).max(16).prefault(PRIME_RL_TESTS),
  policy: z.enum(['proximal', 'current']).default('proximal'),
  unknown: z.enum(['mask', 'keep']).default('mask'),
})

export default definePlugin({
  name: 'rejection',
  kind: 'correction',
  api: 1,
  summary: 'Drops tokens or rows that fail tests of ratio or divergence.',
  settings,
  create: ({ tests, policy, unknown }) => ({
    correct(): Correction {
      const ours = policy === 'current' ? detach(LOGPROB) : column('proximal')
      const gap = where(KNOWN, sub(ours, column('behaviour')), 0)
      const kept = keptBy(tests, gap, KNOWN)
      const each = tests.map((test) => [`${test.of}_${test.measure}`, rejectedBy(test, gap, KNOWN)] as const)
      return {
        mask: detach(unknown === 'mask' ? mul(KNOWN, kept) : kept),
        metrics: { rejected: not(kept), ...Object.fromEntries(each) },
      }
    },
  }),
})
