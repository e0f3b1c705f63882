// Rollouts and groups in memory, as verified by this node.

import type { PromptCoordinates } from './prompt.ts'

/** Identifies a policy. Versions of different lineages are not comparable. */
export interface PolicyReference {
  /** Digest of the weights that this policy started from; 64 hex digits. */
  lineage: string
  /**
   * Digest of the tokenizer, 64 hex digits. Token ids and log-probs are comparable only between equal digests.
   */
  tokenizer: string
  /** Number of optimizer steps since the lineage's start. */
  version: number
}

/** Consecutive tokens sampled by one version of the policy. */
export interface Segment {
  version: number
  /** Index of the segment's first token within the completion. */
  start: number
  length: number
}

/** One exchange with an environment: its observation, and the policy's answer. */
export interface Turn {
  /** Key of the environment's state: equal for equal states of one prompt, however they were reached. */
  state: string
  /** What the environment showed before the answer; at turn 0 the question itself. */
  observation: string
  /** Index of the answer's first token within the completion; `length` is its number of tokens. */
  start: number
  length: number
  /** The environment's reward for the answer. */
  reward: number
}

/** How a completion ended: end-of-sequence or stop string, length limit, or cut off by the node. */
export type Finish = 'stop' | 'length' | 'aborted'

export interface Rollout {
  /** The completion as text, without special tokens. */
  text: string
  /** The completion's token ids under this node's tokenizer, including end-of-sequence if it was sampled. */
  tokens: Int32Array
  /**
   * Per token, the natural log of the probability with which the sampler drew it (after temperature and filters),
   * as reported by the author; shape [tokens]. Undefined if not reliable, for example with another tokenizer.
   */
  behaviourLogprobs?: Float32Array
  /** Per token, the entropy in nats of the full distribution that it was drawn from; shape [tokens]. */
  entropies?: Float32Array
  segments: Segment[]
  finish: Finish
  /**
   * The reward for training: the score of this node's own verifier (never a peer's), possibly changed by a plugin.
   */
  reward: number
  /** The verifier's score, if a plugin has changed `reward`. */
  taskReward?: number
  /**
   * Token ids that the sampler saw before the completion, if different from the group's: for example for a replayed
   * or hinted rollout in a group of others.
   */
  conditioning?: Int32Array
  /** How the prompt was presented, if different from the group's `arm`. */
  arm?: string
  /**
   * Peer ID of the node that wrote it, if that is not the group's author: a borrowed rollout. It counts neither in
   * this node's scores nor as its own gradient, and never leaves the node.
   */
  author?: string
  /** Set on replayed rollouts: how often it was trained on before. The replay plugin then limits its age. */
  replayed?: number
  /**
   * 0 at the environment's tokens and at those of `prefix`, else 1; shape [tokens]. Left out if the policy wrote all
   * tokens.
   */
  lossMask?: Uint8Array
  /**
   * Number of initial tokens that were taken from another rollout, which this one continues. They are not trained on
   * again. The rollout is not an unbiased sample of answers to the prompt, so it does not count in scores and never
   * leaves the node.
   */
  prefix?: number
  /**
   * True if a plugin trains on it as a plain text, with a loss of its own, under a conditioning other than the one it
   * was sampled under. It has no behaviour log-probs, does not count in scores, and never leaves the node.
   */
  taught?: boolean
  /** The turns of an episode, in order. */
  turns?: Turn[]
  /** Named parts of the reward, if there is more than one. */
  rewardParts?: Record<string, number>
  /**
   * Rollouts of a group with the same number are parts of one episode whose turns do not form one token sequence.
   * They have the same reward and count once.
   */
  episode?: number
}

/** How a plugin requested or created a group. Never leaves the node. */
export interface Origin {
  /** `kind/name` of the plugin. */
  plugin: string
  /** The plugin's own id for the request. */
  request?: string
  /** Id of the group that it was derived from. */
  parent?: string
  /** Strength of a hint. */
  level?: number
  /** Library entries that were shown in the prompt. */
  items?: string[]
  /** Position in a chain of prompts. */
  chain?: { id: string; position: number }
}

/** The arm of groups that are made of kept conversations. Their texts are neither shared nor shown nor replayed. */
export const KEPT_ARM = 'kept'

/**
 * Rollouts of one prompt by one policy under one conditioning: the unit of sampling, pooling and sharing.
 */
export interface Group {
  /** Content digest, 64 hex digits: equal for copies of a group, whoever sends them. */
  id: string
  prompt: PromptCoordinates
  /**
   * Token ids that the sampler saw before the completion, under this node's tokenizer. The loss conditions on them.
   */
  conditioning: Int32Array
  /** Peer ID of the node that wrote the rollouts. */
  author: string
  policy: PolicyReference
  /**
   * How the prompt was presented: `base`, or the name given by the plugin that rewrote it. Only `base` is shared.
   */
  arm: string
  /** The plugin that requested or created it, if any. */
  origin?: Origin
  /**
   * True if the conditioning reveals something of the answer key. Such groups are trained on, but never shared or used
   * in evaluation.
   */
  tainted?: boolean
  /** True if it is trained on even when all its rewards are equal, because a plugin provides advantages for it. */
  always?: boolean
  /** Foreign groups only: peer ID of the node that delivered it, which may be its author. */
  source?: string
  rollouts: Rollout[]
  /** When this node created or received it, in ms since the epoch by this node's clock. */
  bornAt: number
  /** This node's own policy version when it created or received the group. */
  bornVersion: number
}

/** True iff the verifier scored it above one half, even if plugins changed its reward. */
export function isRight({ taskReward, reward }: Pick<Rollout, 'reward' | 'taskReward'>): boolean {
  return (taskReward ?? reward) > 0.5
}

/** True iff all rewards are equal to within 1e-6, so that a group-relative estimator learns nothing. */
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

/**
 * The verifier's scores that count for accuracy: those of the policy's own untainted rollouts, except replayed and
 * borrowed ones, continuations of other rollouts, and taught texts. Each episode counts once.
 */
export function scoresOf({ tainted, rollouts }: Group): number[] {
  if (tainted) return []
  const seen = new Set<number>()
  const isFirst = ({ episode }: Rollout): boolean =>
    episode === undefined || (!seen.has(episode) && seen.add(episode) !== undefined)
  return rollouts
    .filter(
      (one) =>
        one.replayed === undefined &&
        one.author === undefined &&
        one.prefix === undefined &&
        !one.taught &&
        isFirst(one),
    )
    .map(({ reward, taskReward }) => taskReward ?? reward)
}

/** True iff the group may be sent to peers and its verifier scores alone have a signal. */
export function isShareable(group: Group): boolean {
  return isPlain(group) && !isZeroSignal(scoresOf(group))
}

/**
 * True iff the group contains only the policy's own answers to the base prompt: no replayed, borrowed or taught
 * rollouts, and no continuations of other rollouts, whose selection a peer could not check.
 */
export function isPlain({ arm, tainted, rollouts }: Group): boolean {
  return (
    arm === 'base' &&
    !tainted &&
    rollouts.every(
      (rollout) =>
        rollout.replayed === undefined &&
        rollout.author === undefined &&
        rollout.prefix === undefined &&
        !rollout.taught &&
        rollout.conditioning === undefined &&
        (rollout.arm ?? 'base') === 'base',
    )
  )
}
