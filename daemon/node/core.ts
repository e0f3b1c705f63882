// Creates the node's core from the config.

import type { Phases } from '../../protocol/api/index.ts'
import type { Config } from '../config/schema.ts'
import type { Journal } from '../control/journal/journal.ts'
import { createCore, type NodeCore } from '../core/core.ts'
import type { OptimizerOptions } from '../engine/engine.ts'
import { ADAMW } from '../engine/trainer.ts'
import type { PluginHost } from '../host/host.ts'
import { randomStream } from '../host/random.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { ParkedGroups } from '../rollout/parked/parked.ts'
import type { Pool } from '../store/pool/pool.ts'
import type { StepRecorder } from '../trainer/audit/recording.ts'
import { batchAt } from '../trainer/batch/batch-size.ts'
import type { Role } from '../trainer/roles.ts'
import type { LearnerState } from '../trainer/sharing/evidence.ts'

/** Capacity of the pool: this many own and this many foreign groups. */
export const POOL_GROUPS = 512

export interface CoreOptions {
  settings(): Config
  /** This node's peer ID. */
  self: string
  seed: number
  /** State of the learner from the restored checkpoint. */
  restored: LearnerState | undefined
}

export interface CoreParts {
  policy: LivePolicy
  plugins: PluginHost
  pool: Pool
  parked: ParkedGroups
  journal: Pick<Journal, 'finding'>
  phases: Pick<Phases, 'run'>
  /** Models of plugin roles, besides the policy. */
  roles: ReadonlyMap<string, Role>
  /** True for peers that were joined or have earned trust. */
  isKnown(author: string): boolean
  /** Whether a peer's weights are averaged. */
  isJoined(author: string): boolean
  /** Nodes whose weights are averaged, this one included. */
  nodes(): number
  restore(before: number): Promise<{ step: number } | undefined>
  recorder?: StepRecorder | undefined
}

/** AdamW settings from the config. */
export function optimizerOf({ training }: Config): OptimizerOptions {
  return {
    ...ADAMW,
    learningRate: training.learning_rate,
    weightDecay: training.weight_decay,
    maxGradientNorm: training.max_gradient_norm,
  }
}

/** Whether the user trusts this peer by config. */
export function vouchesFor(trust: Config['swarm']['trust'], peer: string): boolean {
  return typeof trust === 'string' ? trust === 'all' : trust.includes(peer)
}

export function openCore({ settings, self, seed, restored }: CoreOptions, parts: CoreParts): NodeCore {
  const { policy, plugins, pool, parked, journal, phases, roles, isKnown, isJoined, recorder } = parts
  const { rollout, training: fixed } = settings()
  return createCore(
    {
      settings() {
        const { training, model } = settings()
        const optimizer = optimizerOf(settings())
        const { version } = policy.reference()
        return {
          sizes: {
            own: batchAt(version, training, parts.nodes()),
            whole: batchAt(version, training),
            foreign: training.max_peer_groups,
          },
          minibatches: training.minibatches,
          aggregation: { mode: training.aggregation, length: model.max_completion_tokens },
          warmUpSteps: training.warm_up_steps,
          optimizer: { ...optimizer, learningRate: optimizer.learningRate * Math.sqrt(parts.nodes()) },
          maxStaleness: training.max_staleness,
        }
      },
      temperature: rollout.temperature,
      self,
      adaptive: fixed.adaptive_sharing,
      restored,
    },
    {
      ...{ policy, plugins, pool, roles, isKnown, isJoined, phases, recorder },
      random: (stream) => randomStream(seed, stream),
      trainingCost: ({ seconds }) => seconds,
      isTrusted: (author) => vouchesFor(settings().swarm.trust, author),
      onFinding: (finding) => journal.finding(finding, policy.reference().version),
      async restore(before) {
        const earlier = await phases.run('restore', {}, () => parts.restore(before))
        if (earlier) parked.clear()
        return earlier
      },
    },
  )
}
