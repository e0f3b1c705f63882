// PRIME-RL's masked importance sampling: REINFORCE weighted by the ratio to the sampler, for tokens that pass
// its masks, with a pull towards the sampler as part of the advantage.
//
// Prime Intellect's loss at the end of 2025: -sg(w (A - kl_tau log w)) log pi with w = pi / mu per token, for
// tokens with w in [0.125, 8], in rows whose geometric mean is in [0.1, 10] and which have no w above 100.
// `klTau` is 0 there by default; above 0, tokens that have become likelier since they were sampled count
// less. The loss contains the ratio, so do not combine it with another weight. The variant with one ratio per row
// is not implemented. Tokens with an unknown sampler are compared with the policy at the start of the batch.
// PRIME-RL's newer losses are `dppo` and `ipo`.

import { z } from 'zod'
import { detach, mul, neg, not, ratio, sub, where } from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { keptBy, PRIME_RL_TESTS, testSetting } from '../rejection-tests.ts'
import { ADVANTAGE, anchorLogprob, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  klTau: z.number().nonnegative().default(0),
  tests: z.array(testSetting).max(16).prefault(PRIME_RL_TESTS),
})

export default definePlugin({
  name: 'prime_rl',
  kind: 'correction',
  api: 1,
  summary: 'REINFORCE weighted by the ratio to the sampler, where that is in range.',
  settings,
  create: ({ klTau, tests }) => ({
    correct(): Correction {
      const drift = detach(sub(LOGPROB, anchorLogprob('behaviour')))
      const weight = ratio(drift, 0)
      const kept = keptBy(tests, drift, 1)
      const shaped = mul(weight, sub(ADVANTAGE, mul(klTau, drift)))
      return {
        loss: neg(mul(where(kept, detach(shaped), 0), LOGPROB)),
        metrics: { ratio: weight, rejected: not(kept) },
      }
    },
  }),
})
