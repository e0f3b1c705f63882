// Taint is permanent: a group with rollouts that were generated under tainted text stays tainted, whatever
// plugins make of it. Rollouts are recognized by their token arrays, which copies of a rollout share.

import type { Group } from '../../protocol/train/index.ts'

export interface Taint {
  note(groups: readonly Group[]): void
  /** Returns the groups, with those that contain a tainted rollout marked. */
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
