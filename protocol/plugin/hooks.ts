// The hooks, in the order in which a rollout passes through them:
//
//   receive -> select, weigh -> compose -> (generate; steer) -> verify -> reward -> extend (repeats until no requests)
//     -> group (round) -> observe -> pool, peers -> group (batch) -> advantage -> modify -> teach ->
//     columns -> (train) -> commit
//
// Hooks take data and return data. If a hook throws, hangs or exceeds its budget, the node skips it for this step
// and drops the groups that it requested. The third failure disables the plugin.

import type { Group, PromptCoordinates, Turn } from '../train/index.ts'
import type { Context } from './context.ts'
import type { Expression } from './expression/expression.ts'
import type { Rewrite } from './rewrite.ts'
import type { TaughtInfo, Teaching } from './teacher.ts'

/** A prompt to sample next, and its number of rollouts. */
export interface PromptRequest {
  prompt: PromptCoordinates
  rollouts: number
}

export interface SelectView {
  /** The configured tasks, with their configured difficulty. */
  tasks: ReadonlyArray<{
    name: string
    version: number
    difficulty: number
    minDifficulty: number
    maxDifficulty: number
    /** For a task with a finite training set, its size n: seeds 0 to n - 1 each name a different question. */
    questions?: number
  }>
  /** The configured number of rollouts per prompt. */
  rollouts: number
  /** The fixed set of prompts, if the config has one (rollout.prompts); otherwise prompts are always new. */
  candidates?: readonly PromptCoordinates[]
  /** One weight per candidate: the product of all `weigh` hooks' weights. For the picker. */
  weights?: Float64Array
}

export interface ComposeView {
  prompt: PromptCoordinates
  question: string
  /** Index of the turn, from 0; above 0 only in episodes. */
  turn: number
  /** In an episode, the current observation. `turns` are the turns before it. */
  observation?: string
  turns?: readonly Turn[]
}

/**
 * A request for additional rollouts in this round. Each rollout reserves the tokens of a whole completion from the
 * plugin's budget before it is generated. Rollouts that do not fit wait for unused reservations to be returned, or
 * are not generated. A request gives no group if its text leaves no room for a whole completion, or if its prompt
 * does not exist.
 */
export interface Request extends PromptRequest {
  /** Unique within the plugin and the round. */
  id: string
  /** Used instead of the `compose` hooks. */
  rewrite?: Rewrite
  /** Continues a rollout instead of starting from the question. Cannot be combined with `rewrite`. */
  prefix?: Prefix
  /** `train`: passed to `group` with the round's groups. `probe`: passed to `extend` only. */
  keep: 'train' | 'probe'
  /** Requests for one prompt with the same value are merged into one group, even across calls of `extend`. */
  into?: string
  /** Copied into the group's origin. */
  parent?: string
  chain?: { id: string; position: number }
}

/**
 * The beginning of an existing rollout, for the requested rollouts to continue under its original conditioning.
 * Each new rollout starts with these tokens, with loss mask 0; `Rollout.prefix` is their number. Only new tokens
 * count against the budget, and a prefix that leaves no room for a new token gives no group. The new group's arm is
 * `continued`, or the rollout's own arm if that is not `base`. It is tainted if the rollout is, and never shared.
 */
export interface Prefix {
  /** A group of the request's prompt, as received from the node, with token ids of this node's tokenizer. */
  group: Group
  /** Index of the rollout in the group. */
  rollout: number
  /**
   * Number of tokens to keep: at least 1, and fewer than the rollout has. In an episode the cut must lie within an
   * answer or at the start of one; the earlier answers are replayed in the environment.
   */
  length: number
}

export interface BatchView {
  /** This node's policy. */
  lineage: string
  tokenizer: string
  version: number
  /** This node's peer ID. */
  self: string
  /** `round`: own groups just written. `batch`: groups about to be trained on. Default `round`. */
  at?: 'round' | 'batch'
}

/** A group that has arrived from a peer. */
export interface ReceivedGroup extends Group {
  /** True if this node's user lists its author in `swarm.trust`. */
  trusted?: boolean
}

export interface RoundView extends BatchView {
  /** The groups that the round itself asked for. */
  groups: readonly Group[]
  /** The groups that this plugin requested, by request id or by `into`. */
  landed: ReadonlyMap<string, Group>
  /** Number of earlier calls of `extend` in this round. */
  asked: number
  /** Tokens that this plugin may still spend on generation in this round. */
  tokensLeft: number
}

export interface LiveRollout {
  /** Unique within the round. */
  id: string
  /** Index of its ask within the round. */
  ask: number
  prompt: PromptCoordinates
  /** Tokens generated so far; `fresh` is the number generated in this round. */
  tokens: number
  fresh: number
  /** Sums over the policy's tokens so far, in nats: of the log-probs as sampled, and of the entropies. */
  logprob: number
  entropy: number
  done: boolean
}

/**
 * `park` sets the rollout's whole group aside, finished rollouts included, to continue in a later round. `cut` ends
 * the rollout here and verifies it. `drop` discards it.
 */
export type Steering = 'keep' | 'park' | 'cut' | 'drop'

export interface SteerView {
  version: number
  /**
   * This round's asks in order, including resumed ones; plugins' requests are not steered. `live` and `done` count
   * the rollouts in progress and the ended ones; both are 0 once any rollout of the ask has been parked.
   */
  asks: ReadonlyArray<PromptRequest & { live: number; done: number }>
  /** Number of groups that the round needs, before any over-sampling by a flow plugin. */
  want: number
}

/** Indexed by group, then rollout: one advantage for the whole rollout, or an array with one per token. */
export type Advantages = Array<Array<number | Float32Array>>

/**
 * Values of a correction's own columns for one batch, by name: one number for all tokens, or values shaped like
 * advantages. Names are as in `Correction.columns`, without the plugin's name.
 */
export type Columns = Record<string, number | Advantages>

/** What a correction adds to the objective. The weights of all corrections multiply; their masks are AND-ed. */
export interface Correction {
  /** The per-token loss to minimise. Exactly one plugin of a configuration provides it. */
  loss?: Expression
  /** A factor on each token's loss. No gradient flows through it. */
  weight?: Expression
  /** Added to the loss after all weights, such as a divergence from a reference policy. */
  penalty?: Expression
  /** 0 removes a token from the loss, though it still counts in the denominator; any other value keeps it. */
  mask?: Expression
  /**
   * Replaces the loss where `where` is not 0, for example on borrowed rollouts. The corrections' weights, penalties
   * and masks do not apply there.
   */
  instead?: { where: Expression; loss: Expression }
  /** Metrics to log: for each, the mean of an expression over the batch's tokens. */
  metrics?: Record<string, Expression>
  /**
   * The plugin's own columns, which expressions read as `<plugin>.<name>`, with their default values. The `columns`
   * hook may override these for a batch. The expressions are fixed, so anything that varies between batches must
   * be a column.
   */
  columns?: Record<string, number>
}

/**
 * Texts to train a role's model on as one group, by GRPO with clipping; one update per sampling temperature.
 */
export interface RoleGroup {
  role: string
  rollouts: ReadonlyArray<{
    conditioning: Int32Array
    tokens: Int32Array
    /** Per-token log-probs as reported by the sampler, shape [tokens]. */
    logprobs: Float32Array
    /** Sampling temperature; default 1. Sampling with `topP` cannot be corrected for. */
    temperature?: number
    reward: number
  }>
}

export interface CommitReport {
  /** Optimizer steps so far, including this one. */
  step: number
  metrics: Record<string, number>
  /** The groups that were trained on. `advantages` are theirs. */
  groups: readonly Group[]
  advantages: Advantages
}

type Maybe<T> = T | Promise<T>

export interface Hooks {
  /** Called once before all other hooks, except that `load` comes first if there is saved state. */
  open?(context: Context): Maybe<void>
  /** Returns the state for a checkpoint. After `load`, the plugin must behave as if it had never stopped. */
  save?(): Maybe<Uint8Array>
  load?(state: Uint8Array): Maybe<void>
  /** `share` returns state for peers; `merge` takes in theirs and must be commutative and idempotent. */
  share?(): Maybe<Uint8Array>
  merge?(remote: Uint8Array, from: string): Maybe<void>
  /** Who teaches what, for `waggle status` and the metrics. */
  taught?(): TaughtInfo[]

  /**
   * Receives the peers' groups that have arrived since the previous round, at most a few hundred. This node has
   * verified them: the rewards are its own, and the token ids are from its tokenizer.
   */
  receive?(groups: readonly ReceivedGroup[], context: Context): Maybe<void>
  /** Picks the next prompts. Takes the `picker` slot. */
  select?(view: SelectView, want: number, context: Context): Maybe<PromptRequest[]>
  /** Returns one weight of at least 0 per candidate. The weights of several plugins multiply. */
  weigh?(candidates: readonly PromptCoordinates[], context: Context): Maybe<ArrayLike<number>>
  /** Returns text to place around the prompt, or nothing. With several plugins the first is outermost. */
  compose?(view: ComposeView, context: Context): Maybe<Rewrite | undefined>
  /** Called every few tokens during generation. Rollouts missing from the map continue. Takes the `flow` slot. */
  steer?(live: readonly LiveRollout[], view: SteerView, context: Context): Maybe<Map<string, Steering>>
  /** Number of groups to start so that `want` of them finish; default `want`. */
  oversample?(want: number): number
  /** Called once all requested groups are complete. Returns further requests, or an empty list to stop. */
  extend?(round: RoundView, context: Context): Maybe<Request[]>
  /** Returns new rewards for the group's rollouts, in order. The verifier's scores are kept in `taskReward`. */
  reward?(group: Group, context: Context): Maybe<number[] | undefined>
  /** Replaces, adds or drops groups. Called at the end of a round and again before training (see `view.at`). */
  group?(groups: Group[], view: BatchView, context: Context): Maybe<Group[]>
  /** Receives the round's final groups from this node, including those without a signal, for statistics. */
  observe?(groups: readonly Group[], context: Context): Maybe<void>
  /** Turns rewards into advantages. Takes the `estimator` slot. */
  advantage?(groups: Group[], context: Context): Maybe<Advantages>
  /** Modifies the estimator's advantages. */
  modify?(advantages: Advantages, groups: readonly Group[], context: Context): Maybe<Advantages>
  /** What teachers say about this node's own answers; what is said about others is left out. Takes the `teacher` slot. */
  teach?(groups: readonly Group[], context: Context): Maybe<Teaching>
  /** Returns values for the columns that `correct` declares. Omitted columns keep their default. */
  columns?(advantages: Advantages, groups: readonly Group[], context: Context): Maybe<Columns>
  /** Adds to the objective: loss, weights, masks. Called once, when the configuration is assembled. */
  correct?(): Correction
  /** Called after the update. May change the plugin's state and return texts to train roles on. */
  commit?(report: CommitReport, context: Context): Maybe<{ train: RoleGroup[] } | undefined>
}
