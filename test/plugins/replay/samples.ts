// Rollouts and views for the tests of replay.

import basicArithmetic from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import type { BatchView } from '../../../protocol/plugin/index.ts'
import { tokensOf } from '../../../protocol/plugin/testing/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { groupOf, rolloutOf } from '../samples.ts'

/** A rollout whose sampler is known, as this node's are. */
export function sampled(reward: number, text = `answer ${reward}`, more: Partial<Rollout> = {}): Rollout {
  const tokens = tokensOf(text)
  return rolloutOf(reward, tokens.length, {
    text,
    tokens,
    behaviourLogprobs: new Float32Array(tokens.length).fill(-0.5),
    ...more,
  })
}

let made = 0
/** Of a prompt by its seed, at a version of the policy. */
export function visit(
  seed: number,
  version: number,
  rewards: Array<number | Rollout>,
  more: Partial<Group> = {},
): Group {
  made += 1
  return groupOf(
    rewards.map((reward, i) =>
      typeof reward === 'number' ? sampled(reward, `try ${i} at ${version}`) : reward,
    ),
    {
      id: String(made).padStart(64, '0'),
      prompt: { task: 'basic_arithmetic', taskVersion: basicArithmetic.version, seed, difficulty: 1 },
      conditioning: tokensOf(`question ${seed}`),
      policy: { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version },
      bornVersion: version,
      ...more,
    },
  )
}

export function viewAt(version: number, at: 'round' | 'batch' = 'batch'): BatchView {
  return { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version, self: 'self', at }
}
