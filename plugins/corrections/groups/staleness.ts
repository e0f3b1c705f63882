// Bounded staleness: drops groups that are too many policy versions old.
//
// An own group is as old as its oldest token. A peer's group ages from its arrival here, counted in this
// node's versions since `bornVersion`. Even if both nodes started from the same weights, their policies have
// diverged, so a peer's step count cannot be compared with ours; `tis` measures per token how far apart the two
// policies are. Versions ahead of ours (after a restore from a checkpoint) count like those behind. Replayed
// rollouts are ignored: they are old on purpose, and the plugin that replays them limits their age.

import { z } from 'zod'
import { type BatchView, definePlugin } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'

/** The largest staleness, in versions, that PRIME-RL allows in a batch. */
const DEFAULT_BOUND = 8

export default definePlugin({
  name: 'staleness',
  kind: 'correction',
  api: 1,
  summary: 'Drops groups that are too many policy versions old.',
  settings: z.strictObject({ bound: z.int().nonnegative().default(DEFAULT_BOUND) }),
  create: ({ bound }) => ({
    group(groups, view, context) {
      const kept = groups.filter((group) => ageOf(group, view) <= bound)
      context.metric('dropped', groups.length - kept.length)
      context.metric('oldest', Math.max(0, ...kept.map((group) => ageOf(group, view))))
      return kept
    },
  }),
})

export function ageOf(group: Group, view: BatchView): number {
  if (group.rollouts.every(({ replayed }) => replayed !== undefined)) return 0
  const own = group.author === view.self && group.policy.lineage === view.lineage
  return Math.abs(view.version - (own ? oldestVersion(group) : group.bornVersion))
}

function oldestVersion(group: Group): number {
  let oldest = group.policy.version
  for (const { segments, replayed } of group.rollouts)
    if (replayed === undefined) for (const { version } of segments) oldest = Math.min(oldest, version)
  return oldest
}
