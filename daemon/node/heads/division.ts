// Nodes that average their weights also divide the groups of all others: each group is trained on by one of them. Where
// all train on the same groups, each does the work of all, and the noise of these groups is not averaged away, though the
// learning rate counts on that.

import { type Group, promptKey } from '../../../protocol/train/index.ts'
import { hash32 } from '../../host/random.ts'
import type { Partner } from '../../trainer/heads/partners.ts'

/** Whether the peer trains on this task, as far as it says; one that says nothing may. */
export function trainsOn({ tasks = [] }: Pick<Partner, 'tasks'>, { prompt }: Pick<Group, 'prompt'>): boolean {
  const isThis = tasks.some(
    ({ name, difficulty }) => name === prompt.task && difficulty === prompt.difficulty,
  )
  return tasks.length === 0 || isThis
}

/**
 * Which of these peers trains on a group: that with the highest hash of both (rendezvous hashing). Peers that know of each
 * other find the same one; if one goes, only its groups are divided again. An author may choose who it is, by the seed.
 */
export function trainerOf(
  { author, prompt }: Pick<Group, 'author' | 'prompt'>,
  peers: readonly string[],
): string | undefined {
  const group = `${author}/${promptKey(prompt)}`
  const ranked = peers.map((peer) => ({ peer, rank: hash32(0, `${peer}/${group}`) }))
  return ranked.sort((a, b) => b.rank - a.rank || (a.peer < b.peer ? -1 : 1))[0]?.peer
}
