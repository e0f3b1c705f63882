// V-trace: advantages over a critic, in which the importance ratio to the sampler is included. The critic's targets
// include it too.
//
// IMPALA (Espeholt et al. 2018, arXiv 1802.01561). pi / mu is the per-token ratio of the policy at the start of the
// batch to the sampler; rho = min(rhoBar, pi / mu), c = lambda min(cBar, pi / mu):
//   v_t = V_t + delta_t + gamma c_t (v_{t+1} - V_{t+1}),  delta_t = rho_t (r_t + gamma V_{t+1} - V_t)
//   A_t = min(pgCap, pi / mu) (r_t + gamma v_{t+1} - V_t)
// computed backwards from the end, where V and v are 0. A is not whitened, and the head (critic/head.ts) is fitted
// to v after the update. An environment's tokens are skipped. Use the loss `reinforce`, A log pi, since A already
// contains rho: a correction that weights by the ratio, or a loss anchored at the behaviour policy, would count it
// twice. Use `foreign` with `taper = "off"`.
//
// `critic = "group_mean"` needs no head: V is the mean reward of the group's usable rollouts at every token,
// and the whole reward belongs to the last token. With gamma = lambda = 1 all deltas but the last are 0, and
// with all bounds at 1
//   A_t = (r - mean) times the product of min(1, pi / mu) over t and all tokens after it.
// This is importance sampling over the remaining tokens, truncated token by token. It differs from `tis`, which
// weights by the token's own ratio (the two agree if no later ratio is below 1, as on the last token), and from the
// `sequence` level of `tis`, which includes the tokens before t and truncates the product once. With bounds of 1, A
// decays with length: over 100 tokens with an average min(1, pi / mu) of 0.98, the first keeps an eighth of A.
//
// Ratios are computed at temperature 1, so sample at 1. If a rollout's behaviour log-probs are missing or
// implausible (wrong length, not finite, above 0, or certain at every token), it gets 0 and the critic ignores it;
// with `unknown = "keep"` it counts as if this policy had written it. Estimators do not know which authors'
// log-probs the node has stopped trusting.

import { z } from 'zod'
import type { Context } from '../../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting, mean } from '../shared/groups.ts'
import { tokenRewards } from '../turns/token-rewards.ts'
import { createCritic, headSettings } from './critic.ts'
import { itemOf } from './look.ts'
import { STATE_VERSION } from './state.ts'
import { hasSampler, ratiosOf, traceOf } from './trace.ts'

const settings = z.strictObject({
  critic: z.enum(['head', 'group_mean']).default('head'),
  rhoBar: z.number().positive().default(1),
  cBar: z.number().positive().default(1),
  pgCap: z.number().positive().default(1),
  gamma: z.number().positive().max(1).default(1),
  lambda: z.number().min(0).max(1).default(1),
  unknown: z.enum(['mask', 'keep']).default('mask'),
  head: headSettings,
  limit: limitSetting,
})

export default defineEstimator({
  name: 'v_trace',
  summary: 'Advantages over a critic, corrected for the sampler; use the loss reinforce.',
  settings,
  manifest: {
    signal: 'any',
    stateVersion: STATE_VERSION,
    needs: ['score'],
    conflicts: [
      { with: 'correction/zero_signal', because: 'it learns from groups of equal rewards' },
      { with: 'correction/tis', because: 'its advantages already contain the ratio to the sampler' },
    ],
  },
  create({ critic: baseline, unknown, head, limit, ...bounds }) {
    const critic = createCritic(head)
    const isSeen = (rollout: Rollout): boolean =>
      isScored(rollout) && (unknown === 'keep' || hasSampler(rollout))
    /** The policy's log-probs, and V if there is a head. */
    const look = async (groups: readonly Group[], context: Context) => {
      if (baseline === 'head') return critic.look(groups, { isSeen, isFitted: () => true }, context)
      return { logprobs: await logprobsOf(groups, isSeen, context) }
    }

    return {
      save: critic.save,
      load: critic.load,

      async advantage(groups, context) {
        const seen = await look(groups, context)
        const ratios = groups.map(({ rollouts }, g) =>
          rollouts.map((rollout, r) =>
            isSeen(rollout) ? ratiosOf(rollout, seen.logprobs[g]![r]!) : undefined,
          ),
        )
        const traces = groups.map(({ rollouts }, g) => {
          const centre = mean(rollouts.flatMap(({ reward }, r) => (ratios[g]![r] ? [reward] : [])))
          return rollouts.map((rollout, r) => {
            const of = ratios[g]![r]
            if (!of) return undefined
            const { turns: _, ...whole } = rollout
            const [values, rewarded] =
              'values' in seen
                ? [seen.values[g]![r]!, rollout]
                : [new Float64Array(of.length).fill(centre), whole]
            return traceOf(rollout, { rewards: tokenRewards(rewarded), values, ratios: of }, bounds)
          })
        })
        if ('values' in seen)
          critic.hold(
            seen,
            traces.map((row) => row.map((trace) => trace?.targets ?? new Float64Array())),
            context,
          )
        report(groups, ratios, context)
        return traces.map((row) =>
          row.map((trace) =>
            trace ? Float32Array.from(trace.advantages, (value) => bounded(value, limit)) : 0,
          ),
        )
      },

      commit({ groups }, context) {
        if (groups.length > 0) critic.fit(context)
        return undefined
      },
    }
  },
})

/** Log-probs by group, rollout and token; empty for rollouts that are not wanted. */
async function logprobsOf(
  groups: readonly Group[],
  isWanted: (rollout: Rollout) => boolean,
  context: Context,
): Promise<Float32Array[][]> {
  const found = groups.map(({ rollouts }) => rollouts.map(() => new Float32Array()))
  const wanted = groups.flatMap((group, g) =>
    group.rollouts.flatMap((rollout, r) =>
      rollout.tokens.length > 0 && isWanted(rollout) ? [{ item: itemOf(group, rollout), g, r }] : [],
    ),
  )
  const scored = wanted.length > 0 ? await context.score(wanted.map(({ item }) => item)) : []
  wanted.forEach(({ g, r }, i) => {
    found[g]![r] = Float32Array.from(scored[i]!.logprobs)
  })
  return found
}

/** Reports the mean ratio before truncation, and the share of scored rollouts that are not learned from. */
function report(
  groups: readonly Group[],
  ratios: ReadonlyArray<ReadonlyArray<Float64Array | undefined>>,
  context: Context,
): void {
  const scored = groups.flatMap(({ rollouts }) => rollouts.filter(isScored)).length
  const used = ratios.flat().filter((one) => one !== undefined)
  const tokens = used.reduce((sum, { length }) => sum + length, 0)
  if (scored > 0) context.metric('unknown', 1 - used.length / scored)
  if (tokens > 0)
    context.metric('ratio', used.reduce((sum, one) => sum + one.reduce((a, b) => a + b, 0), 0) / tokens)
}
