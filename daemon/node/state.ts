// The node's current state, as a word and a line of detail, for snapshots and the event log.

import type { StateWord } from '../../protocol/api/index.ts'
import type { EventLog } from '../control/journal/event-log.ts'
import type { NodeLimits } from '../limits/index.ts'

/** What the user has asked for; the loops check it. */
export interface Wishes {
  paused: boolean
  stopping: boolean
}

export interface NodeState {
  now(): { state: StateWord; detail?: string }
  /** Writes the state to the event log. */
  tell(): void
}

export interface StateParts {
  wishes: Wishes
  limits: Pick<NodeLimits, 'info'>
  events: Pick<EventLog, 'emit'>
  /** What is failing in the node, if anything. */
  trouble(): string | undefined
  /** The policy's version. */
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
