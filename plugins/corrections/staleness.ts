// Bounded staleness: drops groups that are more policy versions old than a bound.
//
// Age in versions means something along one lineage only (estimators.md 7.1). A group of this node's is as old as its
// oldest token. A peer's group has been here since `bornVersion`, and that is the only age that this node knows; where
// the peer claims our lineage, its own version counts too, if that makes the group older, since a claim of being young
// is worth nothing. Versions ahead of ours (after a restore from a checkpoint) are as foreign as those behind.

import { z } from 'zod'
import { type BatchView, definePlugin } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'

/** The largest age in versions that PRIME-RL lets into a batch. */
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
  const own = group.author === view.self && group.policy.lineage === view.lineage
  if (own) return Math.abs(view.version - oldestVersion(group))
  const here = Math.abs(view.version - group.bornVersion)
  return group.policy.lineage === view.lineage ? Math.max(here, view.version - group.policy.version) : here
}

function oldestVersion(group: Group): number {
  let oldest = group.policy.version
  for (const { segments } of group.rollouts)
    for (const { version } of segments) oldest = Math.min(oldest, version)
  return oldest
}
