// A node that only pretends to train: numbers follow a script, so that everything that talks to a node can be tested
// without one. Not used by the product.

import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import type { NodeHandle } from '../../daemon/control/node/node.ts'
import type { EventBody, GroupView, JoinResult, PeerInfo, Snapshot } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { peerName } from '../../protocol/text.ts'

export const SELF = '12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN'
export const OTHER = '12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X'
const START = Date.UTC(2026, 10, 20, 12, 0, 0)

export interface ScriptedNode extends NodeHandle {
  /** Goes on by some steps, with their events. */
  advance(steps: number): void
  emit(body: EventBody): void
  calls: string[]
  finish(status: number): void
  /** Laid over every snapshot. */
  overrides: Partial<Snapshot>
}

export interface ScriptedOptions {
  socket?: string
  state?: string
  clock?: () => number
  /** Called when the node is asked to stop, before it says that it has. */
  onStop?: () => Promise<void>
}

export function createScriptedNode({
  socket = '/run/waggle/control.sock',
  state = '/var/lib/waggle',
  clock,
  onStop,
}: ScriptedOptions = {}): ScriptedNode {
  let step = 0
  let paused = false
  let time = START
  const now = clock ?? (() => time)
  const peers: PeerInfo[] = [peer(OTHER, 'mesh')]
  const log = createEventLog({}, { clock: now })
  const calls: string[] = []
  let finish: (status: number) => void = () => {}
  const whenStopped = new Promise<number>((resolve) => {
    finish = resolve
  })
  const startedAt = now()
  const curve = (at: number) => 0.2 + 0.5 * (1 - Math.exp(-at / 200)) + 0.03 * Math.sin(at / 7)

  const node: ScriptedNode = {
    events: log,
    calls,
    whenStopped,
    overrides: {},
    finish,
    emit: (body) => void log.emit(body),
    advance(steps) {
      for (let i = 0; i < steps; i++) {
        step += 1
        time += 1000
        log.emit({
          type: 'step',
          step,
          version: step,
          metrics: { reward: curve(step), loss: 0.1, entropy: 0.8 },
        })
        if (step % 50 === 0)
          log.emit({
            type: 'checkpoint',
            step,
            time: now(),
            path: `${state}/checkpoints/${step}`,
            bytes: 14_000_000,
          })
        if (step % 10 === 0)
          log.emit({
            type: 'group',
            id: 'a'.repeat(64),
            origin: step % 20 === 0 ? 'foreign' : 'own',
            author: step % 20 === 0 ? OTHER : SELF,
            task: 'basic_arithmetic',
            seed: step,
            difficulty: 1,
            version: step,
            rewards: [1, 0, 1, 0, 0, 0, 1, 1],
          })
      }
    },
    snapshot: () => ({ ...snapshot(), ...node.overrides }),
    groups: ({ limit = 16, origin }) =>
      Array.from({ length: Math.min(step, 20) }, (_, i) => group(step - i))
        .filter((g) => !origin || g.origin === origin)
        .slice(0, limit),
    async join({ target }, { onProgress } = {}) {
      calls.push(`join ${target}`)
      onProgress?.({ message: `looking for ${target}` })
      const id = target.split('/').at(-1)!
      if (id !== OTHER)
        throw new WaggleError('E_PEER', `nobody on this network answers as ${id}`, {
          hint: 'Check the ID, or give a multiaddr.',
        })
      const result: JoinResult = { peerId: id, name: peerName(id), already: false }
      return result
    },
    async invite() {
      return 'waggle1abc'
    },
    async share({ path }) {
      calls.push(`share ${path}`)
      return { source: `${OTHER}/${'ab'.repeat(32)}`, bytes: 1000 }
    },
    async fetch({ source, path }, { onProgress } = {}) {
      calls.push(`fetch ${source} ${path}`)
      onProgress?.({ message: '50 %', fraction: 0.5 })
      return { path, bytes: 1000, resumed: 0 }
    },
    async leave() {
      calls.push('leave')
    },
    async pause() {
      calls.push('pause')
      paused = true
    },
    async resume() {
      calls.push('resume')
      paused = false
    },
    async audit({ peer }) {
      calls.push(`audit ${peer}`)
      const build = 'waggle 1, onnx on cpu, linux x64'
      const difference = { cosine: 0.2, movement: 1.4, first: 0, second: 0 }
      const common = { own: 8, foreign: 4, joined: 0, isReplaced: false }
      return {
        ...{ peer: peer ?? 'me', name: 'clever-otter', isOwn: peer === undefined, steps: 12, head: 'passed' },
        audited: [
          peer === undefined
            ? { ...common, step: 41, outcome: 'passed', isSame: true, difference }
            : {
                ...common,
                step: 41,
                outcome: 'failed',
                difference,
                detail: 'it moved the weights otherwise',
              },
        ],
        ...{ build, ownBuild: build },
      }
    },
    async evaluate(
      { tasks = ['basic_arithmetic', 'base_conversion'], promptsPerTask = 64 },
      { onProgress } = {},
    ) {
      calls.push('eval')
      onProgress?.({ message: 'evaluating', fraction: 0.5 })
      return {
        time: now(),
        step,
        version: step,
        accuracy: 0.5,
        tasks: Object.fromEntries(tasks.map((task) => [task, 0.5])),
        prompts: tasks.length * promptsPerTask,
      }
    },
    async checkpoint() {
      calls.push('checkpoint')
      return { step, time: now(), path: `${state}/checkpoints/${step}` }
    },
    async reconfigure(settings) {
      calls.push(`reconfigure ${JSON.stringify(settings)}`)
      return {
        changed: Object.entries(settings).map(([path, to]) => ({ path, from: 1, to })),
        restart: [],
      }
    },
    async conversations({ action = 'list', id = 'a'.repeat(24), reward }) {
      calls.push(`conversations ${action}`)
      const view = { id, time: now(), model: 'tiny', version: 3, asked: 'why?', answer: 'so', tokens: 2 }
      return {
        on: true,
        conversations: [{ ...view, state: 'waiting', ...(reward === undefined ? {} : { reward }) }],
      }
    },
    async mute(peer, on) {
      calls.push(`${on ? 'mute' : 'unmute'} ${peer}`)
      const found = peers.find(({ id, name }) => id === peer || name === peer)
      if (!found) throw new WaggleError('E_PEER', `no peer is called ${peer}`)
      found.state = on ? 'muted' : 'mesh'
      return found.id
    },
    async stop({ checkpoint = true } = {}, { onProgress } = {}) {
      calls.push(`stop ${checkpoint ? 'with' : 'without'} checkpoint`)
      onProgress?.({ message: 'saving a checkpoint' })
      await onStop?.()
      finish(0)
    },
  }

  function snapshot(): Snapshot {
    const reward = curve(step)
    const points = Array.from({ length: Math.min(240, step) }, (_, i): [number, number, number] => {
      const at = step - Math.min(240, step) + i + 1
      return [startedAt + at * 1000, at, curve(at)]
    })
    const evaluations = Array.from({ length: Math.min(16, 1 + Math.floor(step / 50)) }, (_, i) => ({
      time: startedAt + i * 50_000,
      step: i * 50,
      version: i * 50,
      accuracy: curve(i * 50) - 0.05,
      tasks: {
        basic_arithmetic: curve(i * 50),
        base_conversion: curve(i * 50) - 0.1,
        fraction_simplification: curve(i * 50) - 0.05,
      },
      prompts: 192,
    }))
    return {
      v: 1,
      time: now(),
      state: paused ? 'PAUSED' : 'TRAINING',
      node: {
        name: peerName(SELF),
        peerId: SELF,
        version: '0.1.0',
        pid: process.pid,
        startedAt,
        home: {
          config: `${state}/config.toml`,
          state,
          checkpoints: `${state}/checkpoints`,
          logs: `${state}/logs`,
          socket,
        },
      },
      engine: { kind: 'onnx', device: 'cpu', reason: 'no GPU found', threads: 2 },
      model: {
        name: 'waggle-1m',
        parameters: 1_048_576,
        adapterRank: 16,
        policy: { lineage: 'b'.repeat(64), version: step },
      },
      training: {
        step,
        reward,
        rewardSeries: points,
        taskAccuracy: {
          basic_arithmetic: reward,
          base_conversion: reward - 0.1,
          fraction_simplification: reward - 0.05,
        },
        loss: 0.041,
        entropy: 0.71,
        mismatchKl: 0.0081,
        effectiveSampleSize: 0.93,
        clippedShare: 0.019,
        gradientNorm: 0.42,
        learningRate: 1e-4,
        staleness: { p50: 2, p95: 6 },
        tokens: { sampled: step * 1368, trained: step * 2736 },
        distributions: {
          staleness: { bounds: [1, 4], counts: [step, step, 0], sum: step * 4 },
          completionTokens: { bounds: [32], counts: [step * 60, step * 4], sum: step * 1368 },
        },
        batch: { own: 4, foreign: 4, rollouts: 64 },
        generateTokensPerSecond: 1140,
        trainTokensPerSecond: 6120,
        phases: [
          { name: 'generate', seconds: 2.6 },
          { name: 'verify', seconds: 0.02 },
          { name: 'train', seconds: 1.2 },
          { name: 'wait', seconds: 0.1 },
        ],
        completionTokens: 21.4,
        truncatedShare: 0.01,
      },
      evaluations,
      rollouts: {
        pool: { own: 120, foreign: 44 },
        generated: step * 8,
        published: step * 5,
        received: step * 4,
        verified: step * 3,
        trainedOwn: step * 4,
        trainedForeign: step * 2,
        trainedPeers: 1,
        trainedLastHour: { own: 240, foreign: 120, peers: 1 },
        refused: { stale: step, duplicate: Math.floor(step / 10) },
        signalShare: 0.63,
        allRightShare: 0.21,
        allWrongShare: 0.16,
      },
      swarm: {
        enabled: true,
        name: 'waggle/1',
        addresses: [`/ip4/192.0.2.7/tcp/4001/p2p/${SELF}`],
        connected: peers.length,
        known: 3,
        peers,
        bytesIn: step * 20_000,
        bytesOut: step * 11_000,
      },
      sharing: {
        effect: 0.35,
        low: 0.12,
        high: 0.6,
        unit: 'progress per compute',
        comparisons: 24,
        needed: 12,
        own: 4,
        foreign: 4,
        limit: 16,
        verdict: step < 100 ? 'not yet known' : 'helps',
        last: { own: 2, foreign: 4, peers: 1 },
        cost: 0.021,
        contributors: [
          {
            peer: OTHER,
            share: 1,
            weight: 1,
            effect: 0.35,
            low: 0.12,
            high: 0.6,
            comparisons: 24,
            likeness: 'matched',
          },
        ],
      },
      checkpoint: {
        step: step - (step % 50),
        time: now() - 42_000,
        path: `${state}/checkpoints/${step - (step % 50)}`,
        bytes: 14_000_000,
      },
      machine: { rssBytes: 412_000_000, diskFreeBytes: 84_000_000_000, cpuCores: 1.8, loopLagMs: 6 },
      plugins: [
        { kind: 'task', name: 'basic_arithmetic', state: 'ok', msPerStep: 0.4 },
        { kind: 'estimator', name: 'grpo', state: 'ok', msPerStep: 0.2 },
        {
          kind: 'hint',
          name: 'hill',
          state: 'off',
          strikes: 3,
          message: 'hook "compose" took longer than 5 s, 3 times in a row',
        },
      ],
      alerts: [],
    }
  }

  function group(seed: number): GroupView {
    const foreign = seed % 3 === 0
    const author = foreign ? OTHER : SELF
    const rewards = seed % 4 === 0 ? [0, 0, 0, 0] : [1, 0, 1, 0]
    return {
      id: String(seed).padStart(64, '0'),
      time: START + seed * 1000,
      origin: foreign ? 'foreign' : 'own',
      author,
      authorName: peerName(author),
      task: 'basic_arithmetic',
      seed,
      difficulty: 2,
      arm: 'base',
      version: seed,
      rewards,
      used: seed % 4 !== 0,
      question: `Calculate ${seed} + 7.\nGive the answer in <answer></answer>.`,
      key: String(seed + 7),
      samples: rewards.map((reward) => ({
        text: `${seed} + 7 = ${seed + 7 + 1 - reward}\n<answer>${seed + 7 + 1 - reward}</answer>`,
        reward,
        tokens: 14,
        finish: 'stop',
        behaviourLogprob: -0.214,
      })),
    }
  }

  function peer(id: string, state: PeerInfo['state']): PeerInfo {
    return {
      id,
      name: peerName(id),
      state,
      rttMs: 34,
      lastSeen: START,
      version: 4809,
      sameTokenizer: true,
      received: 120,
      verified: 110,
      trained: 49,
      refused: 2,
      bytesIn: 1_200_000,
      bytesOut: 660_000,
      score: 3.2,
      reward: 0.58,
    }
  }
  return node
}
