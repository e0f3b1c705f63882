// What follows from a group of this node's own, whoever it was written for: a task, an agent, an environment or a
// conversation.

import type { Group } from '../../protocol/train/index.ts'
import type { Journal } from '../control/journal/journal.ts'
import type { NodeCore } from '../core/core.ts'
import type { Waker } from '../rollout/waker.ts'
import type { NodeHeads } from './heads/heads.ts'

export interface OwnGroupParts {
  journal: Pick<Journal, 'group'>
  core: Pick<NodeCore, 'onOwnGroup'>
  heads: Pick<NodeHeads, 'ownGroup'>
  changed: Pick<Waker, 'wake'>
}

export function takeOwnGroup(
  group: Group,
  { journal, core, heads, changed }: OwnGroupParts,
): ReturnType<NodeCore['onOwnGroup']> {
  journal.group(group, 'own')
  const taken = core.onOwnGroup(group)
  heads.ownGroup(group)
  // Wakes the train loop even if the group is not used, since a guard may have acted.
  changed.wake()
  return taken
}
