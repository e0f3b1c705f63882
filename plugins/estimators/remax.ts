// ReMax: reward minus that of the greedy answer to the same prompt.
//
// Li et al. 2023 (arXiv 2310.10505). The greedy answer is written by the policy as it is when the batch is trained on, which
// costs one answer a prompt beside the group; needs no group, and learns from groups of equal rewards, too. Prompts
// that a plugin has rewritten are compared with their group's mean instead: the plain prompt's greedy answer would be to
// another question. Where the budget is spent the rest of the batch is compared with group means as well.

import { z } from 'zod'
import { type Context, definePlugin } from '../../protocol/plugin/index.ts'
import { type Group, promptKey } from '../../protocol/train/index.ts'
import { bounded, isScored, limitSetting, mean } from './groups.ts'

const settings = z.strictObject({
  /** Greedy tokens in one batch. */
  tokens: z.int().positive().default(65_536),
  limit: limitSetting,
})

export default definePlugin({
  name: 'remax',
  kind: 'estimator',
  api: 1,
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
  // As many as the budget pays for if each is as long as can be.
  const few = all.slice(0, Math.floor(tokens / Math.max(1, context.limits.completion)))
  const written = await context.generate(
    few.map(([, at]) => ({ prompt: context.question(at), n: 1, temperature: 0 })),
  )
  return new Map(few.map(([key, at], i) => [key, context.verify(at, written[i]![0]!.text).score]))
}
