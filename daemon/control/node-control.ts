// A running node as NodeControl: answers what it is doing, and carries out what it is asked. Holds no part of the node
// itself; every one is a collaborator, given by the composition root.

import type {
  CheckpointInfo,
  EvalRequest,
  EvalResult,
  ReconfigureResult,
  SharingInfo,
  Snapshot,
  StateWord,
} from '../../protocol/api/index.ts'
import { API_VERSION } from '../../protocol/api/index.ts'
import type { Host } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Swarm } from '../swarm/index.ts'
import type { EventLog } from './event-log.ts'
import { watchMachine } from './machine.ts'
import type { NodeControl } from './node.ts'
import type { Showcase } from './showcase.ts'
import { createSwarmControl } from './swarm-control.ts'
import type { Telemetry } from './telemetry.ts'

export interface NodeFacts {
  node: Snapshot['node']
  model: { name: string; path: string; parameters: number; maxCompletionTokens: number }
}

export interface NodeParts {
  policy: LivePolicy
  host: Host
  /** Undefined when the config turns the swarm off. */
  swarm: Swarm | undefined
  telemetry: Telemetry
  events: EventLog
  showcase: Showcase
  pool(): { own: number; foreign: number }
  sharing(): SharingInfo | undefined
  now(): number
  /** Word and line on what the node is doing. */
  state(): { state: StateWord; detail?: string }
  diskFree(): number | undefined
  setPaused(paused: boolean): void
  reconfigure(settings: Record<string, string>): ReconfigureResult
  evaluate(request: EvalRequest, signal?: AbortSignal): Promise<EvalResult>
  checkpoint(): Promise<CheckpointInfo>
  /** Resolves when everything but the control server is down. */
  stop(request: { checkpoint: boolean }): Promise<void>
}

export function createNodeControl(facts: NodeFacts, parts: NodeParts): NodeControl {
  const { policy, host, swarm, telemetry, events } = parts
  let stopping: Promise<void> | undefined
  const lookAtMachine = watchMachine({ state: facts.node.home.state })
  const { info, ...peers } = createSwarmControl({ tokenizer: () => policy.reference().tokenizer }, { swarm })

  return {
    events,

    groups: (query) => parts.showcase.list(query),

    snapshot() {
      const { reference } = policy
      const { version, lineage, tokenizer } = reference()
      const counters = swarm?.counters()
      const diskFreeBytes = parts.diskFree()
      const sharing = parts.sharing()
      return {
        v: API_VERSION,
        time: parts.now(),
        ...parts.state(),
        ...facts,
        // After a device has failed it is another one.
        engine: policy.trainer.info,
        model: { ...facts.model, policy: { lineage, tokenizer, version } },
        training: telemetry.training(version),
        evaluations: [...telemetry.evaluations],
        rollouts: telemetry.rollouts({
          pool: parts.pool(),
          received: counters?.received ?? 0,
          verified: counters?.verified ?? 0,
          refused: { ...counters?.refused },
          droppedTexts: counters?.droppedTexts ?? 0,
        }),
        swarm: info(),
        ...(sharing ? { sharing } : {}),
        ...(telemetry.lastCheckpoint ? { checkpoint: telemetry.lastCheckpoint } : {}),
        machine: {
          ...lookAtMachine(),
          ...(diskFreeBytes === undefined ? {} : { diskFreeBytes }),
        },
        plugins: host.status(),
        alerts: [...telemetry.alerts],
      }
    },

    ...peers,

    async pause() {
      parts.setPaused(true)
    },

    async resume() {
      parts.setPaused(false)
    },

    async reconfigure(settings) {
      return parts.reconfigure(settings)
    },

    evaluate: (request, { signal } = {}) => parts.evaluate(request, signal),

    checkpoint: () => parts.checkpoint(),

    stop({ checkpoint = true } = {}) {
      stopping ??= parts.stop({ checkpoint })
      return stopping
    },
  }
}
