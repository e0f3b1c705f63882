// Supervised learning beside RL: adds the negative log-likelihood of right answers to the loss.
//
// The positive-example language-model loss of VAPO (Yue et al. 2025, arXiv 2504.05118): loss + coefficient * the mean
// of -log pi over the tokens of the right answers, with its coefficient of 0.1. A right answer is one that this node's
// verifier scores above one half, whoever wrote it. So peers' successes count like own ones, weighted by `peers`.
// The mean is taken over the right answers of each author in the batch, like the loss (with training.aggregation =
// "token_mean", the default).
//
// There is no off-policy correction and no bound: if a peer hides a mark in right answers, the policy learns the mark
// too. `focus` weights each token by p (1 - p), as in CHORD (Zhang et al. 2025, arXiv 2508.11408), which excludes
// tokens that this policy would never write and those that it would write anyway.
//
// Try it where right answers are rare: RL then mostly pushes down wrong answers, and this retains the right ones. It
// lowers entropy. Groups without a signal do not reach it, unless the estimator learns from them.

import { z } from 'zod'
import {
  column,
  detach,
  exp,
  greater,
  mul,
  neg,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import { type Group, isRight, type Rollout, writtenLength } from '../../../protocol/train/index.ts'
import { LOGPROB } from '../losses/anchors.ts'

const settings = z.strictObject({
  coefficient: z.number().nonnegative().default(0.1),
  /** Factor on peers' right answers. */
  peers: z.number().min(0).max(1).default(1),
  /** Weights each token by p (1 - p). */
  focus: z.boolean().default(false),
})

export default definePlugin({
  name: 'success_nll',
  kind: 'correction',
  api: 1,
  summary: "Adds supervised learning on right answers, own and peers'.",
  settings,
  create: ({ coefficient, peers, focus }) => ({
    correct(): Correction {
      const probability = exp(LOGPROB)
      const surprise = neg(LOGPROB)
      const weighed = focus ? mul(detach(mul(probability, sub(1, probability))), surprise) : surprise
      const share = mul(column('success_nll.share'), where(column('foreign'), peers, 1))
      return {
        penalty: mul(mul(coefficient, share), weighed),
        metrics: { right: greater(share, 0) },
        columns: { share: 0 },
      }
    },

    columns(_advantages, groups) {
      const scale = new Map<string, number>()
      for (const [author, { all, right }] of tokensByAuthor(groups))
        scale.set(author, all / Math.max(1, right))
      return {
        share: groups.map(({ author, rollouts }) =>
          rollouts.map((rollout) => (isLearnt(rollout) ? scale.get(author)! : 0)),
        ),
      }
    },
  }),
})

/** True for right answers, except borrowed ones, which are left to the plugin that borrowed them. */
function isLearnt(rollout: Rollout): boolean {
  return rollout.author === undefined && isRight(rollout)
}

/** Numbers of tokens in the batch and in right answers, by the author whose gradient they are part of. */
function tokensByAuthor(groups: readonly Group[]): Map<string, { all: number; right: number }> {
  const counts = new Map<string, { all: number; right: number }>()
  for (const { author, rollouts } of groups) {
    const count = counts.get(author) ?? { all: 0, right: 0 }
    counts.set(author, count)
    for (const rollout of rollouts) {
      const length = writtenLength(rollout)
      count.all += length
      if (isLearnt(rollout)) count.right += length
    }
  }
  return counts
}
