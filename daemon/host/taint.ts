// Taint sticks: whatever a plugin makes of rollouts that were written under tainted text, the group that they end up in
// is tainted too. Known by the rollouts' token arrays, which copies of a rollout share.

import type { Group } from '../../protocol/train/index.ts'

export interface Taint {
  note(groups: readonly Group[]): void
  /** The groups, those with a tainted rollout marked. */
  mark(groups: readonly Group[]): Group[]
}

export function createTaint(): Taint {
  const tainted = new WeakSet<Int32Array>()
  return {
    note(groups) {
      for (const group of groups) {
        if (!group.tainted) continue
        for (const { tokens } of group.rollouts) tainted.add(tokens)
      }
    },
    mark: (groups) =>
      groups.map((group) =>
        !group.tainted && group.rollouts.some(({ tokens }) => tainted.has(tokens))
          ? { ...group, tainted: true }
          : group,
      ),
  }
}
