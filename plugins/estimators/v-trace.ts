// V-trace: advantages for rollouts that other policies wrote, with the ratio to their sampler in them and in the critic's targets.
//
// IMPALA (Espeholt et al. 2018, arXiv 1802.01561). With pi / mu the policy at the batch's start over the sampler, a token:
// rho = min(rhoBar, pi / mu), c = lambda min(cBar, pi / mu);
//   v_t = V_t + delta_t + gamma c_t (v_{t+1} - V_{t+1}),  delta_t = rho_t (r_t + gamma V_{t+1} - V_t)
//   A_t = min(pgCap, pi / mu) (r_t + gamma v_{t+1} - V_t)
// from the end, where V and v are 0. A is not whitened, and the head (critic/head.ts) is fitted to v after the update. An
// environment's tokens are skipped. Use the loss `reinforce`, A log pi: rho is in A, and a correction that weighs by the ratio
// again, or a loss anchored at the behaviour policy, counts it twice; `foreign` goes beside it with `taper = "off"`.
//
// `critic = "group_mean"` needs no head: V is the mean reward of the group's usable rollouts at every token, and the whole reward
// falls on the last one. With gamma = lambda = 1 all deltas but the last are 0, and with all bounds at 1
//   A_t = (r - mean) times the product of min(1, pi / mu) over t and all tokens after it.
// So it is truncated importance sampling of what is still to come, bound by bound: neither `tis`, which weighs by the token's own
// ratio (the two are one where no later ratio is below 1, as on the last token), nor its `sequence` level, which has
// the tokens before t in it, too, and cuts the product once. Bounds of 1 make A fade with length: 100 tokens at min(1, pi /
// mu) = 0.98 on average leave an eighth to the first.
//
// Ratios are of temperature 1: sample at 1. A rollout whose sampler is unknown, or says what cannot be (other lengths, numbers that
// are not finite or are above 0, certainty at every token), gets 0 and teaches the critic nothing, or counts as if this
// policy had written it (`unknown = "keep"`). Whom the node has ceased to believe, an estimator is not told.

import { z } from 'zod'
import { type Context, definePlugin } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'
import { createCritic, headSettings } from './critic/critic.ts'
import { itemOf } from './critic/look.ts'
import { bounded, isScored, limitSetting, mean } from './groups.ts'
import { tokenRewards } from './token-rewards.ts'
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

export default definePlugin({
  name: 'v_trace',
  kind: 'estimator',
  api: 1,
  summary: 'Advantages over a critic, corrected for their sampler; for the loss reinforce.',
  settings,
  manifest: {
    signal: 'any',
    needs: ['score'],
    conflicts: [
      { with: 'correction/zero_signal', because: 'it learns from groups of equal rewards' },
      { with: 'correction/tis', because: 'its advantages have the ratio to the sampler in them already' },
    ],
  },
  create({ critic: baseline, unknown, head, limit, ...bounds }) {
    const critic = createCritic(head)
    const isSeen = (rollout: Rollout): boolean =>
      isScored(rollout) && (unknown === 'keep' || hasSampler(rollout))
    /** The policy's log-probs, and V where the head says it. */
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

/** By group, rollout and token; empty for rollouts that are not wanted. */
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

/** The mean ratio, not cut, and the share of rollouts with a reward that are not learnt from. */
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
