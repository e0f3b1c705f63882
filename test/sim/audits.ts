// A simulated node's receipts and audits: the daemon's own, with the one number as the engine. What it computes again takes
// no virtual time.

import type { Config } from '../../daemon/config/schema.ts'
import type { PluginHost } from '../../daemon/host/host.ts'
import { createNodeAudits, type NodeAudits } from '../../daemon/node/audits/audits.ts'
import type { AuditsParts } from '../../daemon/node/audits/contract.ts'
import { createProofs } from '../../daemon/node/audits/proofs.ts'
import { type AuditRounds, createAuditRounds } from '../../daemon/node/audits/rounds.ts'
import { optimizerOf } from '../../daemon/node/core.ts'
import type { LivePolicy } from '../../daemon/policy/live-policy.ts'
import { createBlobs } from '../../daemon/store/blobs.ts'
import type { Disk } from '../../daemon/store/disk.ts'
import type { Swarm } from '../../daemon/swarm/index.ts'
import { createAuditBudget } from '../../daemon/trainer/audit/budget.ts'
import { createLadder, type Ladder } from '../../daemon/trainer/audit/ladder.ts'
import { createOwnHeads } from '../../daemon/trainer/audit/own-heads.ts'
import { recomputeStep } from '../../daemon/trainer/audit/recompute.ts'
import { firstState } from '../../daemon/trainer/audit/state.ts'
import { layoutOf, toVector } from '../../daemon/trainer/heads/vector.ts'
import { NO_PHASES } from '../../protocol/api/index.ts'
import { createTabularEngine, even, model, SPEC } from './policy.ts'

export interface SimulatedAudits extends NodeAudits {
  ladder: Ladder
}

const LAYOUT = layoutOf(SPEC)
/** What computes nothing on a graphics card. */
const BUILD = 'waggle 1, onnx on cpu'
/** What a step with its answers takes here; as measured, an audit takes as long (docs/results/audits.md). */
export const AUDIT_SECONDS = 3.2

export function openSimulatedAudits(
  {
    settings,
    self,
    restored,
    seconds,
  }: {
    settings: Config
    self: string
    restored: Uint8Array | undefined
    /** Processor time of an audit. */
    seconds: number
  },
  {
    policy,
    plugins,
    disk,
    odds,
    ...parts
  }: Pick<AuditsParts, 'signer' | 'random' | 'now' | 'monotonic' | 'log'> & {
    swarm(): Pick<Swarm, 'receipts' | 'isKnown' | 'accuse'> | undefined
    policy: LivePolicy
    plugins: PluginHost
    disk: Disk
    odds: Parameters<typeof createLadder>[1]['odds']
  },
): SimulatedAudits {
  const origin = () => toVector(LAYOUT, policy.initial)
  const ownHeads = createOwnHeads({ origin })
  const ladder = createLadder(
    { first: firstState(LAYOUT, origin()) },
    { hasHead: ownHeads.has, odds, random: parts.random },
  )
  const { training, rollout, model: asked } = settings
  // A node here uses one processor all the time.
  const budget = createAuditBudget(
    {},
    { processorSeconds: () => parts.monotonic() / 1000, random: parts.random },
  )
  const audits = createNodeAudits(
    {
      ...{ layout: LAYOUT, self, restored, lineage: policy.lineage },
      isOn: () => settings.swarm.audits,
      follows: () => settings.swarm.weights === 'audited',
      method: () => ({
        ...{ estimator: {}, corrections: [], temperature: rollout.temperature },
        aggregation: { mode: training.aggregation, length: asked.max_completion_tokens },
        minibatches: training.minibatches,
        optimizer: optimizerOf(settings),
        ...{ tokenizer: model.tokenizer.digest, examples: {} },
      }),
      learningRate: () => training.learning_rate,
      maxTokens: () => 100_000,
      ...{ build: () => BUILD, auditor: () => BUILD },
    },
    {
      ...{ ...parts, policy, ladder, ownHeads, budget, phases: NO_PHASES, keepHead: async () => {} },
      ...{ warmStart: async () => undefined, keepWarmStart: async () => {} },
      blobs: createBlobs({ directory: '/home/audits' }, { disk }),
      proofs: createProofs({
        blobs: createBlobs({ directory: '/home/audits/proofs' }, { disk }),
        ...{ swarm: parts.swarm, mayWrite: () => true, monotonic: parts.monotonic, log: parts.log },
      }),
      findTask: () => even,
      encodePrompt: model.tokenizer.encodePrompt,
      decode: (tokens) => model.tokenizer.decodeCompletion(tokens),
      pause: async () => {},
      recompute: (step) => {
        budget.spent(seconds)
        return recomputeStep(step, {
          engine: createTabularEngine(
            { generateMs: 0, trainMs: 0 },
            {
              sleep: async () => {},
              trouble: { nan: () => false, fails: () => false, onCall: () => true },
            },
          ),
          ...{ spec: SPEC, layout: LAYOUT, base: model.digest, frozen: {}, initial: policy.initial, plugins },
        })
      },
    },
  )
  return { ...audits, ladder }
}

export function openSimulatedRounds(
  {
    audits,
    heads,
    peers,
    ...parts
  }: Omit<Parameters<typeof createAuditRounds>[0], 'peers' | 'strangers' | 'isOn'> & {
    heads: { isJoined(peer: string): boolean; isStranger(peer: string): boolean }
    peers(): string[]
  },
  settings: Config,
): AuditRounds {
  return createAuditRounds({
    ...{ ...parts, audits, heads },
    isOn: () => true,
    peers: () => (settings.swarm.audits ? peers().filter(heads.isJoined) : []),
    strangers: () => (settings.swarm.weights === 'audited' ? peers().filter(heads.isStranger) : []),
  })
}
