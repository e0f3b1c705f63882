// Rollouts and groups in memory, after this node has verified them.

import type { PromptCoordinates } from './prompt.ts'

/** Identifies a policy. Versions of different lineages are not comparable. */
export interface PolicyReference {
  /** Digest of the weights that this policy started from; 64 hex digits. */
  lineage: string
  /**
   * Digest of the tokenizer; token ids and log-probs are comparable only if it is the same. 64 hex digits.
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

/** One exchange with an environment: what it showed, and the policy's tokens that answered. */
export interface Turn {
  /** Key of the environment's state: equal for equal states of one prompt, whatever the path. */
  state: string
  /** What the environment showed before the answer; at turn 0 the question itself. */
  observation: string
  /** Where the answer's tokens are within the completion. */
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
  /** Completion token ids under this node's tokenizer, end-of-sequence included if it was sampled. */
  tokens: Int32Array
  /**
   * Per token, natural log of the probability with which the sampler drew it (temperature and filters
   * included), by the author's report. Undefined if there is none to rely on, for example with another
   * tokenizer.
   */
  behaviourLogprobs?: Float32Array
  /** Per token, entropy in nats of the full distribution that it was drawn from. */
  entropies?: Float32Array
  segments: Segment[]
  finish: Finish
  /**
   * The reward for training: this node's own verifier's score, never a peer's, possibly changed by a plugin.
   */
  reward: number
  /** The verifier's score, if a plugin has changed `reward`. */
  taskReward?: number
  /**
   * Token ids that the sampler saw before it, where they are not the group's: a replayed or hinted one among
   * others.
   */
  conditioning?: Int32Array
  /** How its prompt was presented, where that is not the group's `arm`. */
  arm?: string
  /**
   * Peer ID of the node that wrote it, where that is not the group's author: a borrowed rollout. It counts
   * neither as this node's score nor as its own gradient, and never leaves the node.
   */
  author?: string
  /** Times that it was trained on before: a replayed one. Its age is then the replay plugin's to bound. */
  replayed?: number
  /**
   * 0 at tokens that an environment wrote and at those of `prefix`, else 1, shape [tokens]. Left out where the
   * policy wrote them all.
   */
  lossMask?: Uint8Array
  /**
   * Tokens at its beginning that another rollout wrote and that it continued. They are not trained on again. Such
   * a rollout is no fair sample of answers to the prompt: it does not count as a score, and never leaves the node.
   */
  prefix?: number
  /**
   * True where a plugin has it learnt as a text, by a loss of its own, under a conditioning that it was not sampled
   * under. It has no behaviour log-probs, counts as no score, and never leaves the node.
   */
  taught?: boolean
  /** In an episode, what happened turn by turn. */
  turns?: Turn[]
  /** Named parts that the reward was made of, when there is more than one. */
  rewardParts?: Record<string, number>
  /**
   * Rollouts of a group with the same number are rows of one episode whose turns are not one token sequence.
   * They have the same reward, and count once.
   */
  episode?: number
}

/** How a plugin requested or made a group. Never leaves the node. */
export interface Origin {
  /** `kind/name` of the plugin. */
  plugin: string
  /** Its own name for what it asked for. */
  request?: string
  /** Id of the group that gave rise to it. */
  parent?: string
  /** Strength of a hint. */
  level?: number
  /** Entries of a library that were shown. */
  items?: string[]
  /** Place in a chain of prompts. */
  chain?: { id: string; position: number }
}

/**
 * All rollouts of one prompt by one policy under one conditioning: the unit that is shared, pooled and
 * sampled.
 */
export interface Group {
  /** Content digest, 64 hex digits: equal for copies of one another, whoever sends them. */
  id: string
  prompt: PromptCoordinates
  /**
   * Token ids that the sampler saw before the completion, under this node's tokenizer. The loss conditions on
   * these.
   */
  conditioning: Int32Array
  /** Peer ID of the node that wrote the rollouts. */
  author: string
  policy: PolicyReference
  /**
   * How the prompt was presented: `base`, or what a plugin that rewrote it calls it. Only `base` is shared.
   */
  arm: string
  /** The plugin that requested or made it, if one did. */
  origin?: Origin
  /**
   * True where its conditioning shows something of the answer key: trained on, never shared, never in
   * evaluation.
   */
  tainted?: boolean
  /** True where it is trained on although all its rewards are equal: a plugin has advantages for it. */
  always?: boolean
  /** Peer ID of the node that brought it here, which may be its author; foreign groups only. */
  source?: string
  rollouts: Rollout[]
  /** When this node made or received it, in ms since the epoch by this node's clock. */
  bornAt: number
  /** This node's own policy version when it made or received the group. */
  bornVersion: number
}

/** True iff the verifier scored it above one half, whatever plugins made of its reward. */
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
 * The verifier's scores for accuracy: untainted rollouts of the current policy, without replayed and borrowed
 * ones, without those that continue another and without taught texts.
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

/** True iff peers may get the group and it has a signal by the verifier alone. */
export function isShareable(group: Group): boolean {
  return isPlain(group) && !isZeroSignal(scoresOf(group))
}

/**
 * True iff the group is nothing but the policy's own answers: base prompt, no replayed or borrowed rollouts, and none
 * that continues another, whose choice a peer could not check.
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
