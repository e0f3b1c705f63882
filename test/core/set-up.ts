// A node's core on a real pool and a real learner; the trainer only counts.

import { createCore } from '../../daemon/core/core.ts'
import type { TrainRequest } from '../../daemon/engine/engine.ts'
import { randomStream } from '../../daemon/host/random.ts'
import type { LivePolicy } from '../../daemon/policy/live-policy.ts'
import { createVolatileDatabase } from '../../daemon/store/database/volatile-database.ts'
import { createPool } from '../../daemon/store/pool/pool.ts'
import type { ReceivedGroup } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { ADAMW } from '../engine/model.ts'
import { setUp as openHost, plugin } from '../host/setup.ts'
import { group } from '../trainer/groups.ts'

export async function setUp({
  own = 2,
  foreign = 2,
  maxStaleness = 4,
  isRestorable = true,
  adaptive = false,
  vocabulary = 23,
} = {}) {
  const received: ReceivedGroup[] = []
  const listener = plugin('listener', 'replay', {
    receive: (groups) => {
      received.push(...groups)
    },
  })
  const { plugins } = await openHost([listener], {
    estimator: { use: 'grpo' },
    replay: [{ use: 'listener' }],
  })
  let version = 3
  const trained: TrainRequest[] = []
  const trainer = {
    async vectors() {
      return []
    },
    async train(request: TrainRequest) {
      const { sequences } = request
      trained.push(request)
      return {
        ...{ loss: 0, gradientNorm: 1, metrics: { 'watch.entropy': 0.5 }, completionTokens: 10 },
        ...{ realTokens: sequences.length, computedTokens: 1, microBatches: 1, seconds: 0, applied: true },
      }
    },
  }
  const policy = {
    trainer,
    spec: { contextLength: 512, vocabulary },
    reference: () => ({ lineage: 'a', tokenizer: 'b', version }),
    async advance(steps: number) {
      version += steps
    },
  } as unknown as LivePolicy
  const pool = await createPool(
    { capacityGroups: 100 },
    { database: createVolatileDatabase(), log: () => {}, isKnown: () => true },
  )
  const joined = new Set<string>()
  const restored: number[] = []
  const core = createCore(
    {
      settings: () => ({
        ...{ sizes: { own, foreign }, minibatches: 1, optimizer: ADAMW, warmUpSteps: 0, maxStaleness },
      }),
      ...{ temperature: 1, self: 'me', adaptive },
    },
    {
      ...{ policy, plugins, pool },
      random: (stream) => randomStream(1, stream),
      trainingCost: () => 1,
      onFinding() {},
      isKnown: () => true,
      isTrusted: (author) => author === 'friend',
      isJoined: (author) => joined.has(author),
      async restore(before) {
        restored.push(before)
        return isRestorable ? { step: 1 } : undefined
      },
    },
  )
  const at = (rewards: number[], seed: number, bornVersion = version): Group => ({
    ...group(rewards, { seed }),
    id: `group ${seed}`,
    bornVersion,
  })
  return {
    core,
    joined,
    /** The versions at or before which a checkpoint was looked for. */
    restored,
    trained,
    pool,
    at,
    plugins,
    received,
    version: () => version,
    setVersion: (to: number) => (version = to),
  }
}
