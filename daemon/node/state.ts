// The node's current state, as a word and a line of detail, for snapshots and the event log.

import { doingText, PHASES, type Phases, phaseFacts, type StateWord } from '../../protocol/api/index.ts'
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

interface StateParts {
  wishes: Wishes
  limits: Pick<NodeLimits, 'info'>
  events: Pick<EventLog, 'emit'>
  /** What is failing in the node, if anything. */
  trouble(): string | undefined
  phases: Pick<Phases, 'foremost' | 'list'>
}

export function createNodeState({ wishes, limits, events, trouble, phases }: StateParts): NodeState {
  const now: NodeState['now'] = () => {
    if (wishes.stopping) {
      const [phase] = phases.list()
      return { state: 'STOPPING', ...(phase ? { detail: doingText(phase) } : {}) }
    }
    if (wishes.paused) return { state: 'PAUSED' }
    const { holds } = limits.info()
    if (holds.length > 0) return { state: 'WAITING', detail: holds.map(({ reason }) => reason).join('; ') }
    const detail = trouble()
    if (detail !== undefined) return { state: 'DEGRADED', detail }
    const name = phases.foremost()
    const phase = phases.list().find((one) => one.name === name)
    return {
      state: name === undefined ? 'GENERATING' : PHASES[name].state,
      ...(phase ? { detail: phaseFacts(phase) } : {}),
    }
  }
  return { now, tell: () => void events.emit({ type: 'state', ...now() }) }
}
