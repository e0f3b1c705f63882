// What the node does at the moment, in a word and a line: for snapshots and for the event log.

import type { StateWord } from '../../protocol/api/index.ts'
import type { EventLog } from '../control/journal/event-log.ts'
import type { NodeLimits } from '../limits/index.ts'

/** Requests of the user that the loops check. */
export interface Wishes {
  paused: boolean
  stopping: boolean
}

export interface NodeState {
  now(): { state: StateWord; detail?: string }
  /** Puts it into the event log. */
  tell(): void
}

export interface StateParts {
  wishes: Wishes
  limits: Pick<NodeLimits, 'info'>
  events: Pick<EventLog, 'emit'>
  /** Why a part of the node does not work. */
  trouble(): string | undefined
  /** Of the policy. */
  version(): number
}

export function createNodeState({ wishes, limits, events, trouble, version }: StateParts): NodeState {
  const now: NodeState['now'] = () => {
    if (wishes.stopping) return { state: 'STOPPING' }
    if (wishes.paused) return { state: 'PAUSED' }
    const { holds } = limits.info()
    if (holds.length > 0) return { state: 'WAITING', detail: holds.map(({ reason }) => reason).join('; ') }
    const detail = trouble()
    if (detail !== undefined) return { state: 'DEGRADED', detail }
    return { state: version() === 0 ? 'GENERATING' : 'TRAINING' }
  }
  return { now, tell: () => void events.emit({ type: 'state', ...now() }) }
}
