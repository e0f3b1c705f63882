// LLDS: keeps answers that were not bad from becoming less likely.
//
//   + coefficient * the mean over tokens of 1[A >= 0] 1[its answer or turn became less likely] max(0, log mu - log pi)
//
// Deng et al. 2025 (On GRPO Collapse in Agent Search: The Lazy Likelihood-Displacement, arXiv 2512.04220). Pushing down
// wrong answers also lowers the likelihood of right ones that share their tokens, above all in episodes, where a wrong
// ending pushes down good earlier turns; if likelihood falls everywhere, training collapses. The penalty is 0 if an
// answer (`response`) or a turn (`turn`, the paper's gate by action) is at least as likely as when it was written;
// otherwise it raises only the tokens that became less likely. 0.1 is within the range of 0.05 to 0.2 that
// implementations recommend.
//
// In the paper, the policy that wrote the rollout is also the one at the start of the batch. Here these may differ, and
// mu is the one that wrote it, so the penalty also acts in batches of one step if rollouts are older than the policy.
// The gate by turn is decided once per batch, by a scoring pass, and not again after each step. Peers' tokens get no
// penalty, since their likelihood is that of another policy.
//
// Try it in episodes, and wherever log-probs of right answers fall over a run.

import { z } from 'zod'
import {
  column,
  greater,
  less,
  max,
  mul,
  not,
  rowSum,
  sub,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import { type Context, type Correction, definePlugin } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { type Gaps, gapsOf, turnsOf } from '../gaps.ts'
import { ADVANTAGE, KNOWN, LOGPROB } from '../losses/anchors.ts'

const settings = z.strictObject({
  coefficient: z.number().nonnegative().default(0.1),
  level: z.enum(['response', 'turn']).default('response'),
})

export default definePlugin({
  name: 'llds',
  kind: 'correction',
  api: 1,
  summary: 'Keeps answers that were not bad from becoming less likely.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ coefficient, level }) => ({
    correct(): Correction {
      const fall = where(KNOWN, sub(column('behaviour'), LOGPROB), 0)
      const gate = level === 'turn' ? column('llds.fell') : greater(rowSum(fall), 0)
      const isKept = mul(not(less(ADVANTAGE, 0)), mul(gate, not(column('foreign'))))
      const lost = where(isKept, max(fall, 0), 0)
      return {
        penalty: mul(coefficient, lost),
        metrics: { lost, kept: isKept },
        ...(level === 'turn' && { columns: { fell: 0 } }),
      }
    },
    ...(level === 'turn' && {
      async columns(_: unknown, groups: readonly Group[], context: Context) {
        const found = new Map((await gapsOf(groups, context)).map((gaps) => [gaps.rollout, gaps]))
        return {
          fell: groups.map(({ rollouts }) =>
            rollouts.map((rollout) => {
              const gaps = found.get(rollout)
              return gaps ? fallen(gaps) : 0
            }),
          ),
        }
      },
    }),
  }),
})

/** 1 on the tokens of turns that are less likely now than when they were written. */
function fallen(gaps: Gaps): Float32Array {
  const fell = new Float32Array(gaps.rollout.tokens.length)
  for (const { tokens, sum } of turnsOf(gaps)) if (sum < 0) for (const { at } of tokens) fell[at] = 1
  return fell
}
