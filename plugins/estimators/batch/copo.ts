// COPO: if the answers of a group differ, compares its rollouts with each other; if they agree, compares its
// prompt with the batch's other prompts.
//
// Consistency-aware policy optimization, after its released code. H is the entropy of the group's answers in
// bits. A prompt's own reward is mean (1 - lambda H) with lambda = (1 - 1/G) / log2 G. Its z-score over the
// batch's prompts (sample deviation, 1e-6) goes to all rollouts of the prompt. It is mixed with GRPO by w =
// sigmoid(k (H - b)); where GRPO gives 0, only the z-score counts. The released code mixes two losses; this
// mixes advantages, which is equivalent unless one of them is clipped. Answers are compared as the verifier
// extracts them, where the code compares strings. With a single prompt in the batch, the z-score is 0.

import { z } from 'zod'
import { answerEntropy } from '../shared/answers.ts'
import { defineEstimator, LEARNS_FROM_TIES } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting, mean, perGroup, std } from '../shared/groups.ts'

const settings = z.strictObject({
  k: z.number().positive().default(20),
  b: z.number().default(0.5),
  epsilon: z.number().positive().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'copo',
  summary: 'GRPO where answers differ; compares prompts where they agree.',
  settings,
  manifest: LEARNS_FROM_TIES,
  create: ({ k, b, epsilon, floor, limit }) => ({
    advantage(groups, context) {
      const local = perGroup(groups, { limit }, (rewards) => {
        const [centre, scale] = [mean(rewards), Math.max(std(rewards), floor) + epsilon]
        return rewards.map((reward) => (reward - centre) / scale)
      })
      const prompts = groups.map((group) => {
        const scored = group.rollouts.filter(isScored)
        const { length } = scored
        if (length === 0) return undefined
        const bits = answerEntropy(group, scored, context) / Math.LN2
        const lambda = length > 1 ? (1 - 1 / length) / Math.log2(length) : 0
        return { bits, reward: mean(scored.map(({ reward }) => reward)) * (1 - lambda * bits) }
      })
      const rewards = prompts.flatMap((one) => (one ? [one.reward] : []))
      const [centre, spread] = [mean(rewards), std(rewards)]
      return groups.map(({ rollouts }, g) => {
        const { bits, reward } = prompts[g] ?? { bits: 0, reward: centre }
        const global = spread < epsilon ? 0 : (reward - centre) / (spread + epsilon)
        const weight = 1 / (1 + Math.exp(-k * (bits - b)))
        return rollouts.map((rollout, i) => {
          if (!isScored(rollout)) return 0
          const own = local[g]![i]!
          return bounded(own === 0 ? global : weight * own + (1 - weight) * global, limit)
        })
      })
    },
  }),
})
