// ReMax: reward minus the reward of the greedy answer to the same prompt.
//
// Li et al. 2023 (arXiv 2310.10505). The policy writes the greedy answer when the batch is trained on, which
// costs one answer per prompt. The method needs no groups, and also learns from groups of equal rewards. For
// prompts that a plugin has rewritten, the baseline is the group's mean, since the greedy answer to the plain
// prompt would answer a different prompt. Once the token budget is spent, the rest of the batch uses group means
// as well.

import { z } from 'zod'
import type { Context } from '../../../protocol/plugin/index.ts'
import { type Group, promptKey } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting, mean } from '../shared/groups.ts'

const settings = z.strictObject({
  /** Tokens for greedy answers per batch. */
  tokens: z.int().positive().default(65_536),
  limit: limitSetting,
})

export default defineEstimator({
  name: 'remax',
  summary: 'Reward minus the reward of the greedy answer.',
  settings,
  manifest: { signal: 'any', budget: ({ tokens }) => ({ tokens }) },
  create: ({ tokens, limit }) => ({
    async advantage(groups, context) {
      const baselines = await greedyRewards(groups, tokens, context)
      return groups.map((group) => {
        const scored = group.rollouts.filter(isScored)
        const greedy = group.arm === 'base' ? baselines.get(promptKey(group.prompt)) : undefined
        const baseline = greedy ?? mean(scored.map(({ reward }) => reward))
        return group.rollouts.map((one) => (isScored(one) ? bounded(one.reward - baseline, limit) : 0))
      })
    },
  }),
})

async function greedyRewards(
  groups: readonly Group[],
  tokens: number,
  context: Context,
): Promise<Map<string, number>> {
  const prompts = new Map(
    groups.filter(({ arm }) => arm === 'base').map(({ prompt }) => [promptKey(prompt), prompt]),
  )
  const all = [...prompts]
  // The number that the budget allows if each answer has the maximum length.
  const few = all.slice(0, Math.floor(tokens / Math.max(1, context.limits.completion)))
  const written = await context.generate(
    few.map(([, at]) => ({ prompt: context.question(at), n: 1, temperature: 0 })),
  )
  return new Map(few.map(([key, at], i) => [key, context.verify(at, written[i]![0]!.text).score]))
}
