// LLDS: keeps answers that were not bad from becoming less likely.
//
//   + coefficient * the mean over tokens of 1[A >= 0] 1[its answer or turn became less likely] max(0, log mu - log pi)
//
// Deng et al. 2025 (On GRPO Collapse in Agent Search: The Lazy Likelihood-Displacement, arXiv 2512.04220). Pushing wrong
// answers away also takes likelihood from right ones that share their tokens, most of all in episodes, where a wrong
// ending pushes good earlier turns away; likelihood that falls everywhere ends in collapse. The penalty is 0 where an
// answer (`response`) or a turn (`turn`, the paper's gate by action) is as likely as when it was written, and elsewhere
// lifts only the tokens that fell. 0.1 is in the range of 0.05 to 0.2 that implementations recommend.
//
// The paper's old policy is the one that wrote the rollout and begins the batch; here these may differ, and mu is the
// one that wrote it. So it acts in batches of one step, too, where rollouts are older than the policy. The gate by turn
// is decided once for a batch, by a scoring pass, and not again after each of its steps. Peers' tokens have no penalty:
// their likelihood was another policy's.
//
// Try it in episodes, and wherever log-probs of right answers sink over a run.

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
} from '../../../protocol/plugin/expression.ts'
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
