// Implements NodeControl for a node that trains: answers snapshots and carries out requests. The composition root
// passes in the parts of the node.

import type {
  AgentsInfo,
  AuditRequest,
  AuditResult,
  CheckpointInfo,
  ConversationsRequest,
  ConversationsResult,
  EvalRequest,
  EvalResult,
  HeadsInfo,
  LimitsInfo,
  ModelInfo,
  PhaseInfo,
  PhaseName,
  Phases,
  RecipeInfo,
  ReconfigureResult,
  ServingInfo,
  SharingInfo,
  Snapshot,
  StateWord,
  TrainingInfo,
  TrainingPhase,
  WeightsMet,
} from '../../../protocol/api/index.ts'
import { API_VERSION } from '../../../protocol/api/index.ts'
import type { PluginHost } from '../../host/host.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { Swarm } from '../../swarm/index.ts'
import type { EventLog } from '../journal/event-log.ts'
import { watchMachine } from '../journal/machine.ts'
import type { Showcase } from '../journal/showcase.ts'
import type { Telemetry } from '../journal/telemetry.ts'
import { findPeer } from './find-peer.ts'
import type { CallOptions, NodeControl } from './node.ts'
import { createSwarmControl } from './swarm-control.ts'

export interface NodeFacts {
  node: Snapshot['node']
  model: Required<
    Pick<ModelInfo, 'name' | 'title' | 'path' | 'parameters' | 'adapterRank' | 'maxCompletionTokens'>
  >
  /** Files that must not be shared. */
  secrets: readonly string[]
  tasks?: NonNullable<Snapshot['tasks']>
}

export interface NodeParts {
  policy: LivePolicy
  plugins: PluginHost
  /** Undefined when the config turns the swarm off. */
  swarm: Swarm | undefined
  telemetry: Telemetry
  events: EventLog
  showcase: Showcase
  pool(): { own: number; foreign: number }
  sharing(): SharingInfo | undefined
  /** Undefined while weights are not exchanged. */
  heads: {
    info(): HeadsInfo | undefined
    meet(peer: string, signal?: AbortSignal): Promise<WeightsMet>
  }
  agents?(): AgentsInfo | undefined
  serving?(): ServingInfo | undefined
  conversations(request: ConversationsRequest): Promise<ConversationsResult>
  trained(): TrainingPhase[]
  recipe(): RecipeInfo | undefined
  now(): number
  phases: Pick<Phases, 'list'>
  next(): { waiting: number; due: number }
  /** The node's state, and a line of detail. */
  state(): { state: StateWord; detail?: string }
  limits(): LimitsInfo
  space: { free(): number | undefined; used(): number | undefined }
  /** Reports the phase of this name while `work` runs, or else the most important one. */
  follow<T>(name: PhaseName | undefined, options: CallOptions, work: () => Promise<T>): Promise<T>
  setPaused(paused: boolean): void
  reconfigure(settings: Record<string, string>): Promise<ReconfigureResult>
  evaluate(request: EvalRequest, signal?: AbortSignal): Promise<EvalResult>
  audit(request: AuditRequest, signal?: AbortSignal): Promise<AuditResult>
  checkpoint(): Promise<CheckpointInfo>
  /** Resolves when everything except the control server is down. */
  stop(request: { checkpoint: boolean }): Promise<void>
}

export function createNodeControl(facts: NodeFacts, parts: NodeParts): NodeControl {
  const { policy, plugins, swarm, telemetry, events } = parts
  const { secrets, ...shown } = facts
  let stopping: Promise<void> | undefined
  const lookAtMachine = watchMachine()
  const { info, ...peers } = createSwarmControl(
    { tokenizer: () => policy.reference().tokenizer, secrets },
    { swarm },
  )

  return {
    events,

    groups: (query) => parts.showcase.list(query),

    snapshot() {
      const { reference } = policy
      const { version, lineage, tokenizer } = reference()
      const counters = swarm?.counters()
      const [diskFreeBytes, stateBytes] = [parts.space.free(), parts.space.used()]
      const sharing = counters?.hasLeft ? undefined : parts.sharing()
      const heads = parts.heads.info()
      const agents = parts.agents?.()
      const serving = parts.serving?.()
      const trained = parts.trained()
      const phases = parts.phases.list()
      const recipe = parts.recipe()
      return {
        v: API_VERSION,
        time: parts.now(),
        ...parts.state(),
        ...(phases.length > 0 ? { phases } : {}),
        ...shown,
        // Read each time, because the engine changes when a device fails.
        engine: policy.trainer.info,
        model: { ...facts.model, policy: { lineage, tokenizer, version } },
        training: { ...speedsOf(phases), ...telemetry.training(version), next: parts.next() },
        ...(trained.length > 0 ? { trained } : {}),
        ...(recipe ? { recipe } : {}),
        evaluations: [...telemetry.evaluations],
        rollouts: telemetry.rollouts({
          pool: parts.pool(),
          received: counters?.received ?? 0,
          verified: counters?.verified ?? 0,
          refused: { ...counters?.refused },
          droppedTexts: counters?.droppedTexts ?? 0,
        }),
        swarm: info(),
        ...(heads ? { heads } : {}),
        ...(sharing ? { sharing } : {}),
        ...(agents ? { agents } : {}),
        ...(serving ? { serving } : {}),
        ...(telemetry.lastCheckpoint ? { checkpoint: telemetry.lastCheckpoint } : {}),
        machine: {
          ...lookAtMachine(),
          ...(diskFreeBytes === undefined ? {} : { diskFreeBytes }),
          ...(stateBytes === undefined ? {} : { stateBytes }),
        },
        limits: parts.limits(),
        plugins: plugins.status(),
        alerts: [...telemetry.alerts],
      }
    },

    ...peers,

    async join(request, options = {}) {
      const joined = await peers.join(request, options)
      const weights = await parts.follow(undefined, options, () =>
        parts.heads.meet(joined.peerId, options.signal),
      )
      return { ...joined, weights }
    },

    async pause() {
      parts.setPaused(true)
    },

    async resume() {
      parts.setPaused(false)
    },

    reconfigure: (settings) => parts.reconfigure(settings),

    conversations: (request) => parts.conversations(request),

    evaluate: (request, options = {}) =>
      parts.follow('evaluate', options, () => parts.evaluate(request, options.signal)),

    async audit({ peer, ...request }, options = {}) {
      const who = peer === undefined ? {} : { peer: findPeer(peer, swarm?.known() ?? []) }
      return await parts.follow('audit', options, () => parts.audit({ ...request, ...who }, options.signal))
    },

    checkpoint: (options = {}) => parts.follow(undefined, options, () => parts.checkpoint()),

    stop({ checkpoint = true } = {}, options = {}) {
      stopping ??= parts.stop({ checkpoint })
      const stopped = stopping
      return parts.follow(undefined, options, () => stopped)
    },
  }
}

/** Speeds of what runs, for as long as no round and no step has ended. */
function speedsOf(
  phases: readonly PhaseInfo[],
): Pick<TrainingInfo, 'generateTokensPerSecond' | 'trainTokensPerSecond'> {
  const find = (name: PhaseName) => phases.find((phase) => phase.name === name)
  const generated = (find('write') ?? find('evaluate'))?.tokensPerSecond
  const trained = find('train')?.perSecond
  return {
    ...(generated === undefined ? {} : { generateTokensPerSecond: generated }),
    ...(trained === undefined ? {} : { trainTokensPerSecond: trained }),
  }
}
