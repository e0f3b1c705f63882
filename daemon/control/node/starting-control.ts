// Answers for a node that is still starting: how far it is, and that it can do nothing else yet.

import {
  API_VERSION,
  doingText,
  type Phases,
  phaseFacts,
  type Snapshot,
} from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { EventSource, NodeControl } from './node.ts'

interface StartingParts {
  events: EventSource
  now(): number
  phases: Pick<Phases, 'list'>
  /** Ends the start. Resolves when everything except the control server is down. */
  stop(): Promise<void>
}

export function createStartingControl(
  { node }: Pick<Snapshot, 'node'>,
  { events, now, phases, stop }: StartingParts,
): NodeControl {
  const refuse = async (): Promise<never> => {
    const [phase] = phases.list(0)
    throw new WaggleError(
      'E_CONTROL',
      `${node.name} is still starting${phase ? `: ${doingText(phase)}` : ''}`,
      { hint: 'Try again when `waggle status` no longer says STARTING.' },
    )
  }
  return {
    events,
    snapshot() {
      const running = phases.list(0)
      return {
        ...{ v: API_VERSION, time: now(), state: 'STARTING', node },
        ...(running[0] ? { detail: phaseFacts(running[0]), phases: running } : {}),
      }
    },
    stop,
    ...{ join: refuse, invite: refuse, share: refuse, fetch: refuse, leave: refuse, mute: refuse },
    ...{
      pause: refuse,
      resume: refuse,
      evaluate: refuse,
      audit: refuse,
      checkpoint: refuse,
      reconfigure: refuse,
      conversations: refuse,
    },
  }
}
