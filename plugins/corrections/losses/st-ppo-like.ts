// Turn-level PPO: the clipped loss on the ratio of whole turns, scaled down while much of it is clipped.
//
//   w = exp(the mean over the turn's tokens of log pi - log mu);   max(-w A, -clip(w) A), times 1 / (1 + clipped)
//
// After Li et al. 2025 (ST-PPO, later SORL: Stabilizing Off-Policy Training for Long-Horizon LLM Agents, arXiv
// 2511.20718). The turn's ratio, a geometric mean, and PPO's bounds of 0.2 are the paper's, as reported by others
// (`damp` = false is its Turn-PPO). The paper divides the gradient by the norm of the clipped part of the gradient.
// That is not computed here, so `clipped` is instead the mean of |w A| over the batch's tokens, counting unclipped ones
// as 0. The paper trains a critic; here any estimator works. mu is the policy that wrote the turn, so do not combine
// this with `tis`. A turn's ratio is measured once per batch, by a scoring pass; in a batch of several steps each
// token's own change since then is added. A rollout without turns is one turn; this is then GSPO with other bounds.
//
// Try it in episodes with stale or foreign rollouts, with a turn-level estimator such as `gigpo`.

import { z } from 'zod'
import {
  add,
  column,
  exp,
  greater,
  less,
  max,
  min,
  mul,
  neg,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { type Gaps, gapsOf, turnsOf } from '../gaps.ts'
import { ADVANTAGE, LOGPROB } from './anchors.ts'

const settings = z.strictObject({
  low: z.number().positive().max(1).default(0.2),
  high: z.number().positive().default(0.2),
  /** Scales the loss down by how much of it is clipped. */
  damp: z.boolean().default(true),
})

/** Log-ratios are clamped to +- this. */
const MAX = 10

export default definePlugin({
  name: 'st_ppo_like',
  kind: 'correction',
  api: 1,
  summary: 'The PPO loss on the ratio of whole turns, weaker while much is clipped.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ low, high, damp }) => ({
    correct(): Correction {
      const within = sub(LOGPROB, column('proximal'))
      const ratio = exp(max(min(add(column('st_ppo_like.drift'), within), MAX), -MAX))
      const clippedHigh = mul(greater(ADVANTAGE, 0), greater(ratio, 1 + high))
      const clippedLow = mul(less(ADVANTAGE, 0), less(ratio, 1 - low))
      const bounded = where(clippedHigh, 1 + high, where(clippedLow, 1 - low, ratio))
      return {
        loss: neg(mul(bounded, ADVANTAGE)),
        weight: column('st_ppo_like.scale'),
        metrics: { ratio, clip_low: clippedLow, clip_high: clippedHigh },
        columns: { drift: 0, scale: 1 },
      }
    },
    async columns(advantages, groups, context) {
      const found = new Map((await gapsOf(groups, context)).map((gaps) => [gaps.rollout, gaps]))
      let [clipped, tokens] = [0, 0]
      const drift = groups.map(({ rollouts }: Group, g) =>
        rollouts.map((rollout, r) => {
          const gaps = found.get(rollout)
          if (!gaps) return 0
          const values = driftOf(gaps)
          const advantage = advantages[g]![r]!
          for (const { at } of gaps.tokens) {
            const [a, w] = [typeof advantage === 'number' ? advantage : advantage[at]!, Math.exp(values[at]!)]
            tokens += 1
            if ((a > 0 && w > 1 + high) || (a < 0 && w < 1 - low)) clipped += Math.abs(w * a)
          }
          return values
        }),
      )
      const scale = damp ? 1 / (1 + clipped / Math.max(1, tokens)) : 1
      context.metric('scale', scale)
      return { drift, scale }
    },
  }),
})

/** For each token, the mean log-ratio of its turn. */
function driftOf(gaps: Gaps): Float32Array {
  const drift = new Float32Array(gaps.rollout.tokens.length)
  for (const { tokens, sum } of turnsOf(gaps)) {
    const mean = Math.max(-MAX, Math.min(MAX, sum / Math.max(1, tokens.length)))
    for (const { at } of tokens) drift[at] = mean
  }
  return drift
}
