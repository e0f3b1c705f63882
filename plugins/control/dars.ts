// DARS (difficulty-adaptive rollout sampling, arXiv 2508.13755): gives hard prompts a second round of
// rollouts, so that their groups weigh as much as those of medium difficulty.
//
// The sum of |advantage| over a group of N rollouts is N S(a), where a is the share of right answers (half a
// success if there is none): S = 2 a (1 - a) for advantages that are not divided by the deviation, and 2
// sqrt(a (1 - a)) for those that are. For a below one half, `equal` asks for enough rollouts to bring the sum to
// its peak, and `weighted` for enough to bring it to 2 (1 - a) times the peak. Both rounds then form one group.
// Groups without a signal are dropped from the batch. Use it with the estimator dr_grpo (R - mean), or set
// `deviation` and use grpo. DARS-B is the same with a large batch in one update and two epochs, which are
// settings of the trainer. All arithmetic is on integers, as in the published table.

import { z } from 'zod'
import { definePlugin, type Request } from '../../protocol/plugin/index.ts'
import { hasSignal } from '../../protocol/train/index.ts'
import { mergeExtra, scoreOf, tokensSetting } from './merge.ts'

const settings = z.strictObject({
  schedule: z.enum(['equal', 'weighted']).default('equal'),
  /** Set to true with an estimator that divides by the group's deviation. */
  deviation: z.boolean().default(false),
  /** Maximum rollouts per prompt over both rounds. Default: 32 for `equal`, 64 for `weighted` (paper). */
  most: z.int().positive().max(1024).optional(),
  threshold: z.number().min(0).max(1).default(0.5),
  tokens: tokensSetting,
})

const NAME = 'control/dars'

export default definePlugin({
  name: 'dars',
  kind: 'control',
  api: 1,
  summary: 'Gives hard prompts a second round of rollouts, by difficulty.',
  settings,
  manifest: {
    // Runs after plugins that replace single groups.
    order: 10,
    budget: ({ tokens }) => ({ tokens }),
    conflicts: [
      { with: 'control/xrpo_like', because: 'both decide how many rollouts a prompt gets' },
      { with: 'hint', because: 'both spend a second round on prompts whose rollouts are all wrong' },
    ],
  },
  create: ({ schedule, deviation, most = schedule === 'equal' ? 32 : 64, threshold }) => ({
    extend({ groups, asked, tokensLeft }, context) {
      if (asked > 0) return []
      let left = Math.floor(tokensLeft / Math.max(1, context.limits.completion))
      const requests: Request[] = []
      for (const [index, { id, arm, prompt, rollouts }] of groups.entries()) {
        if (arm !== 'base') continue
        const right = rollouts.filter((one) => scoreOf(one) > threshold).length
        const wanted = extraRollouts(right, rollouts.length, { schedule, deviation, most })
        const extra = Math.min(wanted, left)
        if (extra <= 0) continue
        left -= extra
        requests.push({ id: `${index}`, prompt, rollouts: extra, keep: 'train', parent: id })
      }
      context.metric(
        'extra',
        requests.reduce((sum, { rollouts }) => sum + rollouts, 0),
      )
      return requests
    },

    group: (groups, { at }) =>
      at === 'batch' ? groups.filter((group) => group.always || hasSignal(group)) : mergeExtra(groups, NAME),
  }),
})

/** Number of extra rollouts for a prompt if `right` of its `count` rollouts were right. */
export function extraRollouts(
  right: number,
  count: number,
  { schedule, deviation, most }: { schedule: 'equal' | 'weighted'; deviation: boolean; most: number },
): number {
  // a = share / whole, exactly; with no success, half a success counts.
  const whole = 2 * count
  const share = right > 0 ? 2 * right : 1
  if (2 * share >= whole || count === 0) return 0
  let total: number
  if (!deviation) {
    // N peak / (N S): N^3 / (2N a' (1 - a')) and N^2 / a', with a' and 1 - a' counted in halves.
    total = schedule === 'equal' ? divideUp(count ** 3, share * (whole - share)) : divideUp(count ** 2, share)
  } else {
    // The smallest integer whose square reaches N^4 / (a' (1 - a')), or N^2 (1 - a') / a'.
    total =
      schedule === 'equal'
        ? rootUp(count ** 4, share * (whole - share))
        : rootUp(count ** 2 * (whole - share), share)
  }
  return Math.max(0, Math.min(total - count, most - count))
}

/** ceil(a / b) for integers. */
function divideUp(a: number, b: number): number {
  return Math.floor((a + b - 1) / b)
}

/** The smallest integer x with x^2 b >= a. */
function rootUp(a: number, b: number): number {
  let x = Math.floor(Math.sqrt(a / b))
  while (x > 0 && x * x * b >= a) x -= 1
  while (x * x * b < a) x += 1
  return x
}
