// The hooks, in the order of a rollout's life:
//
//   receive -> select, weigh -> compose -> (generate; steer) -> verify -> reward -> extend (more work, until none)
//     -> group (round) -> observe -> pool, peers -> group (batch) -> advantage -> modify -> columns -> (train)
//     -> commit
//
// Data in, data out. A hook that throws, hangs or overspends is skipped for this step, and the groups that it
// requested are dropped. After the third time the plugin is switched off.

import type { Group, PromptCoordinates, Turn } from '../train/index.ts'
import type { Context, Rewrite } from './context.ts'
import type { Expression } from './expression.ts'

/** A prompt to ask next, and how many rollouts of it. */
export interface Ask {
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
    /** Where the task has a fixed set of training questions, their number: seeds below it name each once. */
    questions?: number
  }>
  /** The configured number of rollouts per prompt. */
  rollouts: number
  /** The fixed set of prompts, if the config has one (rollout.prompts); otherwise prompts are always new. */
  candidates?: readonly PromptCoordinates[]
  /** Product of the weights from `weigh` hooks, one per candidate; for the picker. */
  weights?: Float64Array
  /** The swarm's name, which is the same for all its nodes, and this node's peer ID. Without a swarm, none. */
  swarm?: { name: string; self: string }
}

export interface ComposeView {
  prompt: PromptCoordinates
  question: string
  /** From 0; above 0 only in episodes. */
  turn: number
  /** In an episode, what the environment shows now, and what came before. */
  observation?: string
  turns?: readonly Turn[]
}

/**
 * More work for this round. Each rollout reserves a whole completion of the plugin's tokens before it is
 * written. What does not fit waits for tokens that others leave unused, or is not written. Text that leaves
 * no room for a whole completion, or a prompt that does not exist, gives no group.
 */
export interface Request extends Ask {
  /** Unique within the plugin and the round. */
  id: string
  /** Replaces what `compose` hooks would do. */
  rewrite?: Rewrite
  /** Continues a rollout instead of beginning at the question; without `rewrite`. */
  prefix?: Prefix
  /** `train`: passed to `group` with the round's groups. `probe`: passed to `extend` only. */
  keep: 'train' | 'probe'
  /** Requests about one prompt with the same value form one group, also across calls of `extend`. */
  into?: string
  /** Copied into the group's origin. */
  parent?: string
  chain?: { id: string; position: number }
}

/**
 * The beginning of a rollout that requested rollouts continue, under the conditioning that it was written under.
 * Each of them has these tokens first, with loss mask 0, and `Rollout.prefix` says how many. Only what is new counts
 * against the budget, and what has no room for a new token gives no group. The group's arm is `continued`, or the
 * rollout's own arm if that is not `base`. It is tainted if the rollout is, and never shared.
 */
export interface Prefix {
  /** A group of the request's prompt, as the node gave it, with token ids of this node's tokenizer. */
  group: Group
  /** Index of the rollout in the group. */
  rollout: number
  /**
   * How many of its tokens, at least 1 and fewer than it has. In an episode the last of them must be within an
   * answer, or the next one must begin one: the answers before are given to the environment again.
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

/** A peer's group on its arrival. */
export interface ReceivedGroup extends Group {
  /** True where this node's user vouches for its author in `swarm.trust`. */
  trusted?: boolean
}

export interface RoundView extends BatchView {
  /** Groups of the round's own asks. */
  groups: readonly Group[]
  /** The groups that this plugin requested, by request id or by `into`. */
  landed: ReadonlyMap<string, Group>
  /** How often `extend` was called before in this round. */
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
  /** Tokens written so far, and how many of them in this round. */
  tokens: number
  fresh: number
  /** Sums over the tokens that the policy wrote so far, in nats: of log-probs as sampled, and of entropies. */
  logprob: number
  entropy: number
  done: boolean
}

/**
 * `park` keeps its whole group, finished rollouts included, to continue it in a later round. `cut` ends the
 * rollout here and verifies it. `drop` discards it.
 */
export type Steering = 'keep' | 'park' | 'cut' | 'drop'

export interface SteerView {
  version: number
  /**
   * Asks of this round in order, including resumed ones; requests are not steered. Counts the rollouts that
   * are being written and those that have ended; both are 0 once any rollout of the ask was parked.
   */
  asks: ReadonlyArray<Ask & { live: number; done: number }>
  /** Number of groups needed for the round, before a flow plugin over-sampled. */
  want: number
}

/** Per group of the batch, one advantage per rollout, or one per token of each rollout. */
export type Advantages = Array<Array<number | Float32Array>>

/**
 * Values of a correction's own columns for one batch, by name: one value for all tokens, or shaped like
 * advantages. Names are those of `Correction.columns`, without the plugin's name.
 */
export type Columns = Record<string, number | Advantages>

/** What a correction adds to the objective. Weight factors of all corrections multiply; masks are AND-ed. */
export interface Correction {
  /** The per-token loss to minimise. Exactly one plugin of a configuration provides it. */
  loss?: Expression
  /** A detached factor on each token's loss. */
  weight?: Expression
  /** Added to the loss after all weights, such as a divergence from a reference policy. */
  penalty?: Expression
  /** 0 removes a token from the loss (it still counts in the denominator); anything else keeps it. */
  mask?: Expression
  /**
   * Replaces the loss where `where` is not 0, such as on borrowed rollouts. No correction's weight, penalty or
   * mask applies there.
   */
  instead?: { where: Expression; loss: Expression }
  /** Numbers to log, each the mean of an expression over the batch's tokens. */
  metrics?: Record<string, Expression>
  /**
   * The plugin's own columns, which expressions read as `<plugin>.<name>`, each with the value of all tokens
   * if the `columns` hook gives none. The objective stays the same from batch to batch; whatever varies must
   * be a column.
   */
  columns?: Record<string, number>
}

/**
 * Texts that a role's model learns from, compared as a group: GRPO with clipping, one update per temperature.
 */
export interface RoleGroup {
  role: string
  rollouts: ReadonlyArray<{
    conditioning: Int32Array
    tokens: Int32Array
    /** As reported by the sampler. */
    logprobs: Float32Array
    /** Sampling temperature; default 1. A `topP` cannot be corrected for. */
    temperature?: number
    reward: number
  }>
}

export interface CommitReport {
  /** Optimizer steps so far, including this one. */
  step: number
  metrics: Record<string, number>
  /** What was trained on, with its advantages. */
  groups: readonly Group[]
  advantages: Advantages
}

type Maybe<T> = T | Promise<T>

export interface Hooks {
  /** Called once before all other hooks, except `load` if there is saved state. */
  open?(context: Context): Maybe<void>
  /** The state for a checkpoint: after `load`, the plugin must decide as if it had never stopped. */
  save?(): Maybe<Uint8Array>
  load?(state: Uint8Array): Maybe<void>
  /** State for peers, and merging theirs, which must be commutative and idempotent. */
  share?(): Maybe<Uint8Array>
  merge?(remote: Uint8Array, from: string): Maybe<void>

  /**
   * Gets the peers' groups that have arrived since the round before, at most a few hundred. They were verified
   * here: rewards are this node's, tokens are in its tokenizer.
   */
  receive?(groups: readonly ReceivedGroup[], context: Context): Maybe<void>
  /** Picks the next prompts. Takes the `picker` slot. */
  select?(view: SelectView, want: number, context: Context): Maybe<Ask[]>
  /** One weight of at least 0 per candidate; weights of several plugins multiply. */
  weigh?(candidates: readonly PromptCoordinates[], context: Context): Maybe<ArrayLike<number>>
  /** Text around the prompt, or nothing. Texts of several plugins nest, the first outermost. */
  compose?(view: ComposeView, context: Context): Maybe<Rewrite | undefined>
  /** Called every few tokens during generation. Rollouts that it omits continue. Takes the `flow` slot. */
  steer?(live: readonly LiveRollout[], view: SteerView, context: Context): Maybe<Map<string, Steering>>
  /** How many groups to start so that `want` of them get done; default `want`. */
  oversample?(want: number): number
  /** Called when all requested groups are there: requests more work, or none. */
  extend?(round: RoundView, context: Context): Maybe<Request[]>
  /** New rewards for the group's rollouts, in order; the verifier's stay in `taskReward`. */
  reward?(group: Group, context: Context): Maybe<number[] | undefined>
  /** Replaces, adds or drops groups, at the end of a round and again before training. See view.at. */
  group?(groups: Group[], view: BatchView, context: Context): Maybe<Group[]>
  /** Gets the round's final own groups, including those without a signal, to keep statistics. */
  observe?(groups: readonly Group[], context: Context): Maybe<void>
  /** Turns rewards into advantages. Takes the `estimator` slot. */
  advantage?(groups: Group[], context: Context): Maybe<Advantages>
  /** Changes advantages after the estimator. */
  modify?(advantages: Advantages, groups: readonly Group[], context: Context): Maybe<Advantages>
  /** Values of the columns that `correct` names. Columns left out keep the value from `correct`. */
  columns?(advantages: Advantages, groups: readonly Group[], context: Context): Maybe<Columns>
  /** Adds to the objective: loss, weights, masks. Called once, when the configuration is assembled. */
  correct?(): Correction
  /** Called after the update, to change state or return texts that roles learn from. */
  commit?(report: CommitReport, context: Context): Maybe<{ train: RoleGroup[] } | undefined>
}
