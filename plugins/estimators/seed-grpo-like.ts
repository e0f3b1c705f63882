// Like SEED-GRPO: GRPO, smaller the less a group's answers agree.
//
// Reconstructed: the abstract says that advantages shrink with the entropy of a prompt's answers by meaning, no more. Here
// A is multiplied by f(alpha SE / ln G), SE the entropy of the answers that the verifier reads (equal answers, not
// equal meanings), with the forms that others report: linear, exponential, or 1 / (1 + x); which one is the paper's, and
// its alpha, is not known.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { answerEntropy } from './answers.ts'
import { isScored, limitSetting, mean, perGroup, std, stdSetting } from './groups.ts'

const settings = z.strictObject({
  form: z.enum(['linear', 'exponential', 'inverse']).default('linear'),
  alpha: z.number().nonnegative().default(1),
  std: stdSetting,
  epsilon: z.number().nonnegative().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

const FORMS = {
  linear: (x: number) => Math.max(0, 1 - x),
  exponential: (x: number) => Math.exp(-x),
  inverse: (x: number) => 1 / (1 + x),
}

export default definePlugin({
  name: 'seed_grpo_like',
  kind: 'estimator',
  api: 1,
  summary: 'GRPO, smaller the less the answers of a group agree.',
  settings,
  create: ({ form, alpha, std: kind, epsilon, floor, limit }) => ({
    advantage(groups, context) {
      const scores = perGroup(groups, { limit }, (rewards) => {
        const [centre, scale] = [mean(rewards), Math.max(std(rewards, kind), floor) + epsilon]
        return rewards.map((reward) => (reward - centre) / scale)
      })
      return groups.map((group, g) => {
        const scored = group.rollouts.filter(isScored)
        if (scored.length < 2) return scores[g]!
        const entropy = answerEntropy(group, scored, context) / Math.log(scored.length)
        const factor = FORMS[form](alpha * entropy)
        return scores[g]!.map((score) => factor * score)
      })
    },
  }),
})
