// COPO: where a group's answers agree, prompts are compared with one another; where they differ, its rollouts are.
//
// Consistency-aware policy optimization, after its released code. H: entropy of the group's answers in bits. A prompt's own
// reward is mean (1 - lambda H) with lambda = (1 - 1/G) / log2 G; over the batch's prompts it becomes a z-score (sample, 1e-6),
// given to all its rollouts. Mixed with GRPO by w = sigmoid(k (H - b)), and where GRPO says 0 that z-score alone. The code mixes
// two losses; here advantages are mixed, which is the same until one of them is clipped. Answers are what the verifier
// reads, where the code compares strings. A batch of one prompt has no z-score: 0.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { answerEntropy } from './answers.ts'
import { bounded, isScored, limitSetting, mean, perGroup, std } from './groups.ts'

const settings = z.strictObject({
  k: z.number().positive().default(20),
  b: z.number().default(0.5),
  epsilon: z.number().positive().default(1e-6),
  floor: z.number().nonnegative().default(1e-3),
  limit: limitSetting,
})

export default definePlugin({
  name: 'copo',
  kind: 'estimator',
  api: 1,
  summary: 'GRPO where answers differ, prompts against prompts where they agree.',
  settings,
  manifest: {
    signal: 'any',
    conflicts: [{ with: 'correction/zero_signal', because: 'it learns from groups of equal rewards' }],
  },
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
