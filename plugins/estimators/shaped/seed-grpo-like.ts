// Like SEED-GRPO: GRPO whose advantages shrink the less a group's answers agree.
//
// Reconstructed: the abstract only says that advantages shrink with the semantic entropy of a prompt's
// answers. Here A is multiplied by f(alpha SE / ln G), where SE is the entropy of the answers that the
// verifier extracts (equal answers, not equal meanings), with the forms that others report: linear,
// exponential, or 1 / (1 + x). Which form and which alpha the paper uses is not known.

import { z } from 'zod'
import { answerEntropy } from '../shared/answers.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, perGroup, std, stdSetting } from '../shared/groups.ts'

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

export default defineEstimator({
  name: 'seed_grpo_like',
  summary: 'GRPO with smaller advantages the less the answers of a group agree.',
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
