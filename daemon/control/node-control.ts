// A running node as NodeControl: answers what it is doing, and carries out what it is asked. Holds no part of the node
// itself; every one is a collaborator, given by the composition root.

import { availableParallelism, freemem, totalmem } from 'node:os'
import type {
  CheckpointInfo,
  EvalRequest,
  EvalResult,
  JoinResult,
  PeerInfo,
  ReconfigureResult,
  SharingInfo,
  Snapshot,
  StateWord,
  SwarmInfo,
} from '../../protocol/api/index.ts'
import { API_VERSION } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { peerName, safeText } from '../../protocol/text.ts'
import type { EngineInfo } from '../engine/engine.ts'
import type { Host } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { PeerView, Swarm } from '../swarm/index.ts'
import type { EventLog } from './event-log.ts'
import type { NodeControl } from './node.ts'
import type { Showcase } from './showcase.ts'
import type { Telemetry } from './telemetry.ts'

export interface NodeFacts {
  node: Snapshot['node']
  engine: EngineInfo
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

const PEERS_SHOWN = 64
/** The person who asked waits this long; the search goes on for as long as the node runs. */
const JOIN_MS = 30_000

export function createNodeControl(facts: NodeFacts, parts: NodeParts): NodeControl {
  const { policy, host, swarm, telemetry, events } = parts
  let stopping: Promise<void> | undefined
  let cpu = { at: performance.now(), usage: process.cpuUsage(), cores: 0 }

  /** CPU since the last look, in cores; looked at no more than once a second. */
  const cpuCores = (): number => {
    const at = performance.now()
    if (at - cpu.at > 1000) {
      const usage = process.cpuUsage(cpu.usage)
      cpu = { at, usage: process.cpuUsage(), cores: (usage.user + usage.system) / 1000 / (at - cpu.at) }
    }
    return Math.min(cpu.cores, availableParallelism())
  }

  const swarmInfo = (): SwarmInfo => {
    if (!swarm) return { enabled: false, addresses: [], connected: 0, peers: [] }
    const { connected, known, bytesIn, bytesOut } = swarm.counters()
    const own = policy.reference().tokenizer
    return {
      enabled: true,
      name: swarm.name,
      addresses: swarm.addresses(),
      connected,
      known,
      peers: swarm
        .peers()
        .slice(0, PEERS_SHOWN)
        .map((peer) => peerInfo(peer, own)),
      bytesIn,
      bytesOut,
    }
  }

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
        model: { ...facts.model, policy: { lineage, tokenizer, version } },
        training: telemetry.training(version),
        evaluations: [...telemetry.evaluations],
        rollouts: telemetry.rollouts({
          pool: parts.pool(),
          received: counters?.received ?? 0,
          verified: counters?.verified ?? 0,
          refused: { ...counters?.refused },
        }),
        swarm: swarmInfo(),
        ...(sharing ? { sharing } : {}),
        ...(telemetry.lastCheckpoint ? { checkpoint: telemetry.lastCheckpoint } : {}),
        machine: {
          rssBytes: process.memoryUsage.rss(),
          freeMemoryBytes: freemem(),
          totalMemoryBytes: totalmem(),
          cpuCores: cpuCores(),
          ...(diskFreeBytes === undefined ? {} : { diskFreeBytes }),
        },
        plugins: host.status(),
        alerts: [...telemetry.alerts],
      }
    },

    async join({ target }, { signal, onProgress } = {}): Promise<JoinResult> {
      if (!swarm) {
        throw new WaggleError('E_PEER', 'this node has no network: swarm.enabled is false', {
          hint: 'Set swarm.enabled = true in the config and start again.',
        })
      }
      const limit = AbortSignal.timeout(JOIN_MS)
      const outcome = await swarm.join(target, {
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        ...(onProgress ? { onProgress: ({ message }) => onProgress({ message }) } : {}),
      })
      if (outcome.state === 'searching' || outcome.peerId === undefined) {
        throw new WaggleError('E_PEER', `${target} was not found yet; the search goes on in the background`, {
          hint: 'Check that the other node runs and is on this network, or join by its full address (its `waggle status` shows it).',
          data: { searching: true },
        })
      }
      const { peerId, address, already } = outcome
      return { peerId, name: peerName(peerId), already, ...(address === undefined ? {} : { address }) }
    },

    async invite() {
      if (!swarm) {
        throw new WaggleError('E_PEER', 'this node has no network: swarm.enabled is false', {
          hint: 'Set swarm.enabled = true in the config and start again.',
        })
      }
      return await swarm.invite()
    },

    async leave() {
      await swarm?.leave()
    },

    async pause() {
      parts.setPaused(true)
    },

    async resume() {
      parts.setPaused(false)
    },

    async reconfigure(settings) {
      return parts.reconfigure(settings)
    },

    async mute(peer, on) {
      const found = swarm?.peers().find(({ id, name }) => id === peer || name === peer)
      if (!swarm || !found) {
        throw new WaggleError('E_PEER', `no peer is called ${safeText(peer, { limit: 100, line: true })}`, {
          hint: '`waggle peers` lists them by name and ID.',
        })
      }
      swarm.mute(found.id, on)
    },

    evaluate: (request, { signal } = {}) => parts.evaluate(request, signal),

    checkpoint: () => parts.checkpoint(),

    stop({ checkpoint = true } = {}) {
      stopping ??= parts.stop({ checkpoint })
      return stopping
    },
  }
}

function peerInfo(peer: PeerView, ownTokenizer: string): PeerInfo {
  const { id, name, address, rttMs, lastHeard, policyVersion, tokenizer, reward } = peer
  return {
    id,
    name,
    state: peer.muted ? 'muted' : peer.mesh ? 'mesh' : peer.connected ? 'up' : 'down',
    received: peer.published,
    verified: peer.verified,
    trained: peer.used,
    refused: peer.refusedTotal,
    score: peer.score,
    ...(address === undefined ? {} : { address }),
    ...(rttMs === undefined ? {} : { rttMs }),
    ...(lastHeard === undefined ? {} : { lastSeen: lastHeard }),
    ...(policyVersion === undefined ? {} : { version: policyVersion }),
    ...(tokenizer === undefined ? {} : { sameTokenizer: tokenizer === ownTokenizer }),
    ...(reward === undefined ? {} : { reward }),
  }
}
