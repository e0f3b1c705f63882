// What a rollout and a group are, once they are in memory and have been verified on this node.

import type { PromptCoordinates } from './prompt.ts'

/** Which policy wrote something. Versions of different lineages cannot be compared. */
export interface PolicyReference {
  /** Digest of the weights that this policy started from; 64 hex digits. */
  lineage: string
  /** Digest of the tokenizer; token ids and log-probs mean something only where it is the same. 64 hex digits. */
  tokenizer: string
  /** Number of optimizer steps since the lineage's start. */
  version: number
}

/** A stretch of tokens written in one go by one version of the policy. */
export interface Segment {
  version: number
  /** Index of the first token of the stretch within the completion. */
  start: number
  length: number
}

/** How a completion ended: end-of-sequence or stop string, length limit, or cut off by the node. */
export type Finish = 'stop' | 'length' | 'aborted'

export interface Rollout {
  /** The completion as text, without special tokens. */
  text: string
  /** Completion token ids under this node's tokenizer, end-of-sequence included if it was sampled. */
  tokens: Int32Array
  /**
   * Per token, natural log of the probability with which the sampler drew it (temperature and filters included), by
   * the author's report. Undefined when nobody who can be believed wrote it down (another tokenizer).
   */
  behaviourLogprobs?: Float32Array
  /** Per token, entropy in nats of the full distribution that it was drawn from. */
  entropies?: Float32Array
  segments: Segment[]
  finish: Finish
  /** What this node's own verifier said; never taken from a peer. */
  reward: number
  /** Named parts that the reward was made of, when there is more than one. */
  rewardParts?: Record<string, number>
}

/** All rollouts of one prompt by one policy under one conditioning: the unit that is shared, pooled and sampled. */
export interface Group {
  /** Content digest, 64 hex digits: equal for copies of one another, whoever sends them. */
  id: string
  prompt: PromptCoordinates
  /** Token ids that the sampler saw before the completion, under this node's tokenizer. The loss conditions on these. */
  conditioning: Int32Array
  /** Peer ID of the node that wrote the rollouts. */
  author: string
  policy: PolicyReference
  /** How the prompt was presented: `base`, or what a plugin that rewrote it calls it. */
  arm: string
  rollouts: Rollout[]
  /** When this node made or received it, in ms since the epoch by this node's clock. */
  bornAt: number
  /** This node's own policy version when it made or received the group. */
  bornVersion: number
}

/** True iff every reward is the same to within 1e-6: nothing to learn from for a group-relative estimator. */
export function isZeroSignal(rewards: readonly number[]): boolean {
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (const reward of rewards) {
    if (reward < low) low = reward
    if (reward > high) high = reward
  }
  return !(high - low >= 1e-6)
}

/** True iff a group-relative estimator can learn from the group. */
export function hasSignal(group: Group): boolean {
  return !isZeroSignal(group.rollouts.map(({ reward }) => reward))
}
