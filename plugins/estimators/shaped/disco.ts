// DisCO: raises the score of right answers above that of wrong ones, with the same weight for every question.
//
//   mean over questions of  mean of s over right answers - tau log mean exp(s / tau) over wrong answers
//
// Li et al. 2025 (Discriminative Constrained Optimization, arXiv 2505.12366), after its released code: s is the mean
// log-prob of an answer's tokens ("log L"), tau is 10, and questions that lack right or wrong answers are left out.
// GRPO gives a question the weight sqrt(p (1 - p)), so that rare successes count little; here one right answer of eight
// pulls as hard as eight of sixteen together. Written as advantages, the gradient is n / right answers for each right
// answer, and -n softmax(s / tau) for each wrong one, where n is the group's size. The wrong answers that the policy
// finds most likely are pushed down most (`wrong` = "likely", DisCO). With `wrong` = "evenly" each gets
// -n / wrong answers (DisCO-b).
//
// The full method also needs three other settings: training.aggregation = "sequence_mean", the loss `reinforce`, and
// `kl_limit`, the paper's constraint in place of clipping. With these, a batch of one step matches the paper; in a
// batch of several steps, the softmax stays that of the batch's start. The trainer caps advantages at 10, so groups of
// more than ten need a `scale` below 1. The paper's other score, the mean ratio ("L-ratio"), is not included.
//
// Try it where most questions are hard and groups are large.

import { z } from 'zod'
import type { Context } from '../../../protocol/plugin/index.ts'
import { type Group, type Rollout, writtenOf } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting, mean } from '../shared/groups.ts'

const settings = z.strictObject({
  wrong: z.enum(['likely', 'evenly']).default('likely'),
  temperature: z.number().positive().default(10),
  /** Factor on all advantages. */
  scale: z.number().positive().default(1),
  limit: limitSetting,
})

const isPositive = ({ reward }: Rollout): boolean => reward > 0.5

export default defineEstimator({
  name: 'disco',
  summary: 'Right answers above wrong ones, equally for easy and hard questions.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ wrong, temperature, scale, limit }) => ({
    async advantage(groups, context) {
      const failures = groups.map((group) => (isMixed(group) ? failuresOf(group) : []))
      const scores =
        wrong === 'likely'
          ? await scoresOf(groups, failures, context)
          : failures.map((some) => some.map(() => 0))
      return groups.map(({ rollouts }, g) => {
        const size = rollouts.filter(isScored).length
        const right = size - failures[g]!.length
        const pushes = new Map(
          softmax(scores[g]!.map((score) => score / temperature)).map((share, i) => [
            failures[g]![i]!,
            -size * share,
          ]),
        )
        return rollouts.map((rollout) => {
          if (failures[g]!.length === 0 || !isScored(rollout)) return 0
          return bounded(scale * (pushes.get(rollout) ?? size / right), limit)
        })
      })
    },
  }),
})

function isMixed({ rollouts }: Group): boolean {
  const scored = rollouts.filter(isScored)
  return scored.some(isPositive) && !scored.every(isPositive)
}

const failuresOf = ({ rollouts }: Group): Rollout[] =>
  rollouts.filter((rollout) => isScored(rollout) && !isPositive(rollout))

/** The mean log-prob of each failure's tokens under the policy. */
async function scoresOf(
  groups: readonly Group[],
  failures: readonly Rollout[][],
  context: Context,
): Promise<number[][]> {
  const scored = await context.score(
    failures.flatMap((some, g) =>
      some.map(({ conditioning, tokens }) => ({
        conditioning: conditioning ?? groups[g]!.conditioning,
        completion: tokens,
      })),
    ),
  )
  let next = 0
  return failures.map((some) =>
    some.map((rollout) => mean([...writtenOf(scored[next++]!.logprobs, rollout)])),
  )
}

function softmax(values: readonly number[]): number[] {
  const largest = Math.max(...values)
  const weights = values.map((value) => Math.exp(value - largest))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}
