// Drops groups in which every rollout got the same reward: the filter of DAPO's dynamic sampling.
//
// Yu et al. 2025. A group-relative estimator gives such a group zeros, so it only dilutes the batch's mean
// and costs a forward and a backward pass. Groups with a single rollout stay, for estimators that need no
// group. Do not use it with estimators that learn from groups of equal rewards, such as reinforce_plus_plus.

import { z } from 'zod'
import { definePlugin } from '../../../protocol/plugin/index.ts'
import { isZeroSignal } from '../../../protocol/train/index.ts'

export default definePlugin({
  name: 'zero_signal',
  kind: 'correction',
  api: 1,
  summary: 'Drops groups whose rewards are all equal.',
  settings: z.strictObject({}),
  create: () => ({
    group(groups, _view, context) {
      const kept = groups.filter(
        ({ rollouts }) => rollouts.length === 1 || !isZeroSignal(rollouts.map(({ reward }) => reward)),
      )
      context.metric('dropped', groups.length - kept.length)
      return kept
    },
  }),
})
