// Groups of agents' rollouts that are not complete yet. Rollouts with the same task and group name are attempts at the
// same prompt. When a group is full, further rollouts with its name begin a new one.

import type { AgentRollout } from './rollout.ts'

export interface PendingGroup {
  /** Rollouts that have their reward. */
  readonly members: AgentRollout[]
}

interface Entry extends PendingGroup {
  /** Rollouts that have no reward yet. */
  waiting: Set<AgentRollout>
  /** When the last of its rollouts expires, and the group is handed on as it is. */
  closesAt: number
}

export interface Pending {
  readonly size: number
  /** Number of groups in which, at this time or later, a rollout was opened, called the model or got its reward. */
  activeSince(time: number): number
  hasSeat(name: Pick<AgentRollout, 'task' | 'group'>): boolean
  join(rollout: AgentRollout): void
  /** The rollout was dropped. */
  leave(rollout: AgentRollout): void
  /** The rollout has got its reward. If its group is complete now, forgets the group and returns it. */
  complete(rollout: AgentRollout): PendingGroup | undefined
  /** Returns the groups whose time is up, and forgets them. */
  due(now: number): PendingGroup[]
}

export function createPending({ groupSize }: { groupSize: number }): Pending {
  const entries = new Set<Entry>()
  const open = new Map<string, Entry>()
  const entryOf = new Map<AgentRollout, Entry>()
  const nameOf = ({ task, group }: Pick<AgentRollout, 'task' | 'group'>): string =>
    JSON.stringify([task, group])
  const seats = ({ members, waiting }: Entry): number => groupSize - members.length - waiting.size

  const forget = (entry: Entry): PendingGroup => {
    entries.delete(entry)
    for (const rollout of [...entry.members, ...entry.waiting]) entryOf.delete(rollout)
    for (const [name, known] of open) if (known === entry) open.delete(name)
    return entry
  }

  return {
    get size() {
      return entries.size
    },
    activeSince: (time) =>
      [...entries].filter(({ members, waiting }) =>
        [...members, ...waiting].some((rollout) => rollout.running > 0 || rollout.activeAt >= time),
      ).length,
    hasSeat: (name) => seatIn(open.get(nameOf(name))),
    join(rollout) {
      const name = nameOf(rollout)
      const known = open.get(name)
      const entry: Entry = seatIn(known) ? known! : { members: [], waiting: new Set(), closesAt: 0 }
      entries.add(entry)
      open.set(name, entry)
      entryOf.set(rollout, entry)
      entry.waiting.add(rollout)
      entry.closesAt = Math.max(entry.closesAt, rollout.expiresAt)
    },
    leave(rollout) {
      const entry = entryOf.get(rollout)
      if (!entry) return
      entryOf.delete(rollout)
      entry.waiting.delete(rollout)
      const at = entry.members.indexOf(rollout)
      if (at >= 0) entry.members.splice(at, 1)
      if (entry.members.length + entry.waiting.size === 0) forget(entry)
    },
    complete(rollout) {
      const entry = entryOf.get(rollout)
      if (!entry) return undefined
      entry.waiting.delete(rollout)
      entry.members.push(rollout)
      return entry.members.length >= groupSize ? forget(entry) : undefined
    },
    due(now) {
      return [...entries].filter(({ waiting, closesAt }) => waiting.size === 0 && now >= closesAt).map(forget)
    },
  }

  function seatIn(entry: Entry | undefined): boolean {
    return entry !== undefined && seats(entry) > 0
  }
}
