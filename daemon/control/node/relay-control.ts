// Implements NodeControl for a relay: snapshots, join, invite, stop. Requests about training are refused.

import type { Alert, Snapshot } from '../../../protocol/api/index.ts'
import { API_VERSION } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Swarm } from '../../swarm/index.ts'
import type { EventLog } from '../journal/event-log.ts'
import type { NodeControl } from './node.ts'
import { createSwarmControl } from './swarm-control.ts'

const MAX_ALERTS = 32

interface RelayParts {
  swarm: Swarm
  events: EventLog
  now(): number
  /** Resolves when everything except the control server is down. */
  stop(): Promise<void>
}

type RelayControl = NodeControl & {
  /** Shows the alert until it is cleared. A new alert replaces one with the same key. */
  alert(alert: Omit<Alert, 'time'>): void
  clearAlert(key: string): void
}

export function createRelayControl(
  { node, secrets }: Pick<Snapshot, 'node'> & { secrets: readonly string[] },
  { swarm, events, now, stop }: RelayParts,
): RelayControl {
  const { info, ...peers } = createSwarmControl({ tokenizer: () => undefined, secrets }, { swarm })
  const alerts: Alert[] = []
  let stopping: Promise<void> | undefined
  const refuse = async (): Promise<never> => {
    throw new WaggleError('E_USAGE', 'this is a relay: it does not train', {
      hint: 'Start a node that does with `waggle up`, in a home of its own.',
    })
  }
  return {
    events,
    snapshot: () => ({
      v: API_VERSION,
      time: now(),
      state: stopping ? 'STOPPING' : 'RELAYING',
      node,
      swarm: info(),
      machine: { rssBytes: process.memoryUsage.rss() },
      alerts: [...alerts],
    }),
    ...peers,
    alert(alert) {
      const at = alerts.findIndex(({ key }) => key === alert.key)
      if (at >= 0) alerts.splice(at, 1)
      alerts.unshift({ ...alert, time: now() })
      alerts.splice(MAX_ALERTS)
    },
    clearAlert(key) {
      const at = alerts.findIndex((alert) => alert.key === key)
      if (at >= 0) alerts.splice(at, 1)
    },
    pause: refuse,
    resume: refuse,
    reconfigure: refuse,
    evaluate: refuse,
    audit: refuse,
    checkpoint: refuse,
    conversations: refuse,
    stop() {
      stopping ??= stop()
      return stopping
    },
  }
}
