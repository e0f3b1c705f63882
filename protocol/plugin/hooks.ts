// The hooks, in the order of a rollout's life:
//
//   select, weigh -> compose -> (generate; steer) -> verify -> reward -> extend (more work, until none) -> group (round)
//     -> observe -> pool, peers -> group (batch) -> advantage -> modify -> columns -> (train) -> commit
//
// Data in, data out. A hook that throws, hangs or overspends is skipped for the step, its requests' groups are dropped,
// and at the third time the plugin is switched off.

import type { Group, PromptCoordinates, Turn } from '../train/index.ts'
import type { Context, Rewrite } from './context.ts'
import type { Expression } from './expression.ts'

/** Which prompt to ask next, and how many rollouts of it. */
export interface Ask {
  prompt: PromptCoordinates
  rollouts: number
}

export interface SelectView {
  /** Tasks that the config allows, with the difficulty that it asks for. */
  tasks: ReadonlyArray<{
    name: string
    version: number
    difficulty: number
    minDifficulty: number
    maxDifficulty: number
  }>
  /** Rollouts per prompt that the config asks for. */
  rollouts: number
  /** The fixed set of prompts, where the config has one (rollout.prompts); else new ones are drawn for ever. */
  candidates?: readonly PromptCoordinates[]
  /** Product of what `weigh` hooks gave, one a candidate; for the picker. */
  weights?: Float64Array
}

export interface ComposeView {
  prompt: PromptCoordinates
  question: string
  /** From 0; above it only in episodes. */
  turn: number
  /** In an episode, what the environment shows now, and what was before. */
  observation?: string
  turns?: readonly Turn[]
}

/**
 * More work for this round. For every rollout a whole completion is reserved of the plugin's tokens before it is written;
 * what does not fit waits for what the others leave over, and else is not written. Text that leaves no room for a whole
 * completion, or a prompt that there is not, lands as nothing.
 */
export interface Request extends Ask {
  /** Unique within the plugin and the round. */
  id: string
  /** Instead of what `compose` hooks would do. */
  rewrite?: Rewrite
  /** `train`: comes to `group` with the round's groups. `probe`: only to `extend`. */
  keep: 'train' | 'probe'
  /** Requests about one prompt with the same value here land as one group, those of later askings too. */
  into?: string
  /** Copied into the group's origin. */
  parent?: string
  chain?: { id: string; position: number }
}

export interface BatchView {
  /** This node's policy. */
  lineage: string
  tokenizer: string
  version: number
  /** This node's peer ID. */
  self: string
  /** `round`: own groups just written. `batch`: what is about to be trained on. `round` if left out. */
  at?: 'round' | 'batch'
}

export interface RoundView extends BatchView {
  /** Groups of the round's own asks. */
  groups: readonly Group[]
  /** What this plugin asked for and got, by request id, or by `into`. */
  landed: ReadonlyMap<string, Group>
  /** Times that `extend` was asked in this round before. */
  asked: number
  /** Tokens that this plugin may still have generated in this round. */
  tokensLeft: number
}

export interface LiveRollout {
  /** Unique within the round. */
  id: string
  /** Index of its ask in the round. */
  ask: number
  prompt: PromptCoordinates
  /** Tokens written so far, and how many of these in this round. */
  tokens: number
  fresh: number
  done: boolean
}

/**
 * `park` keeps its group, what is written and what has ended, to go on with in a later round, `cut` ends it here and
 * verifies it, `drop` forgets it.
 */
export type Steering = 'keep' | 'park' | 'cut' | 'drop'

export interface SteerView {
  version: number
  /**
   * Asks of this round, parked ones that were resumed included, in order; requests are not steered. Rollouts that are
   * being written, and that have ended: none of either where the ask was parked, with one rollout or all of them.
   */
  asks: ReadonlyArray<Ask & { live: number; done: number }>
  /** Groups that the round was asked for, before a flow plugin over-sampled. */
  want: number
}

/** Per group of the batch, one advantage per rollout, or one per token of each rollout. */
export type Advantages = Array<Array<number | Float32Array>>

/**
 * Values of a correction's own columns for one batch, by name: one for all tokens, or shaped as advantages are. A name is
 * the one of `Correction.columns`, without the plugin's.
 */
export type Columns = Record<string, number | Advantages>

/** What a correction adds to the objective. Weight factors of all corrections multiply; masks are AND-ed. */
export interface Correction {
  /** The per-token loss to minimise. Exactly one plugin of a configuration gives it. */
  loss?: Expression
  /** A detached factor on each token's loss. */
  weight?: Expression
  /** Added to the loss after all weights, such as a divergence from a reference policy. */
  penalty?: Expression
  /** 0 removes a token from the loss (it still counts in the denominator), non-zero keeps it. */
  mask?: Expression
  /** Numbers to log, each the mean of an expression over the batch's tokens. */
  metrics?: Record<string, Expression>
  /**
   * Columns of its own, which expressions read as `<plugin>.<name>`, each with the value of all tokens where the `columns`
   * hook gives none. An objective stays what it is from batch to batch; what changes in it is a column.
   */
  columns?: Record<string, number>
}

/** Texts of a role's model to learn from, compared with one another: GRPO with clipping, one update a temperature. */
export interface RoleGroup {
  role: string
  rollouts: ReadonlyArray<{
    conditioning: Int32Array
    tokens: Int32Array
    /** As the sampler reported them. */
    logprobs: Float32Array
    /** That it was written at; 1 if left out. Nothing undoes a `topP`. */
    temperature?: number
    reward: number
  }>
}

export interface CommitReport {
  /** Optimizer steps so far, this one included. */
  step: number
  metrics: Record<string, number>
  /** What was trained on, with its advantages. */
  groups: readonly Group[]
  advantages: Advantages
}

type Maybe<T> = T | Promise<T>

export interface Hooks {
  /** Before anything else, once; `load` comes before it where there is saved state. */
  open?(context: Context): Maybe<void>
  /** State that a checkpoint keeps: what `load` needs to decide the same as if nothing had happened. */
  save?(): Maybe<Uint8Array>
  load?(state: Uint8Array): Maybe<void>
  /** What peers may have of the state, and taking in theirs: in any order and twice gives the same. */
  share?(): Maybe<Uint8Array>
  merge?(remote: Uint8Array, from: string): Maybe<void>

  /** Picks the next prompts. Takes the `picker` slot. */
  select?(view: SelectView, want: number, context: Context): Maybe<Ask[]>
  /** One weight of at least 0 a candidate; those of several plugins multiply. */
  weigh?(candidates: readonly PromptCoordinates[], context: Context): Maybe<ArrayLike<number>>
  /** Text around the prompt, or nothing. Those of several plugins nest, the first one outermost. */
  compose?(view: ComposeView, context: Context): Maybe<Rewrite | undefined>
  /** Asked every few tokens while a round is written. What it leaves out is kept. Takes the `flow` slot. */
  steer?(live: readonly LiveRollout[], view: SteerView, context: Context): Maybe<Map<string, Steering>>
  /** Groups that a flow plugin wants written at once so that `want` of them are done; `want` if left out. */
  oversample?(want: number): number
  /** Groups have landed: more work, or none. Asked again when all that was asked for is there. */
  extend?(round: RoundView, context: Context): Maybe<Request[]>
  /** Other rewards for the group's rollouts, in order; the verifier's stay in `taskReward`. */
  reward?(group: Group, context: Context): Maybe<number[] | undefined>
  /** Replaces, mixes in or drops groups: at the round's end, and again before they are trained on. See view.at. */
  group?(groups: Group[], view: BatchView, context: Context): Maybe<Group[]>
  /** The round's own groups as they stay, those without a signal too: for those who keep count. */
  observe?(groups: readonly Group[], context: Context): Maybe<void>
  /** Turns rewards into advantages. Takes the `estimator` slot. */
  advantage?(groups: Group[], context: Context): Maybe<Advantages>
  /** Changes advantages after the estimator. */
  modify?(advantages: Advantages, groups: readonly Group[], context: Context): Maybe<Advantages>
  /** Values of the columns that `correct` names. What it leaves out has the value that `correct` gave it. */
  columns?(advantages: Advantages, groups: readonly Group[], context: Context): Maybe<Columns>
  /** Adds to the objective: loss, weights, masks. Called once when the configuration is assembled. */
  correct?(): Correction
  /** After the update: state, libraries, and texts of roles to learn from. */
  commit?(report: CommitReport, context: Context): Maybe<{ train: RoleGroup[] } | undefined>
}
