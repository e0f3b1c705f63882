// The contract of a learner.

import type { Phases, SharingInfo } from '../../../protocol/api/index.ts'
import type { Random } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import type { TrainRequest } from '../../engine/engine.ts'
import type { PluginHost } from '../../host/host.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { Aggregation } from '../aggregation.ts'
import type { StepRecorder } from '../audit/recording.ts'
import type { Role } from '../roles.ts'
import type { LearnerState } from '../sharing/evidence.ts'
import type { PartReport } from '../sharing/mixing/part.ts'
import type { Odds } from '../sharing/typicality.ts'
import type { UpdateReport } from '../update.ts'

export interface LearnerOptions {
  /** The settings as they are now. */
  settings(): LearnerSettings
  temperature: number
  /** This node's peer ID. */
  self: string
  /** False keeps J at its maximum, even if foreign groups bring less progress than own ones. */
  adaptive: boolean
  restored?: LearnerState | undefined
}

/** What may change while the node runs. */
export interface LearnerSettings {
  /**
   * Maximum number of groups in a batch: I own groups and J foreign groups. A batch is due when `due` groups wait
   * (default: I). A waiting foreign group counts by its author's standing. `whole`: I of a node that shares its work with
   * nobody (default: I).
   */
  sizes: { own: number; foreign: number; due?: number; whole?: number }
  minibatches: number
  /** Default: mean over tokens. */
  aggregation?: Aggregation
  /** `learningRate` is the rate after warm-up. */
  optimizer: TrainRequest['optimizer']
  /** Optimizer steps over which the learning rate rises linearly. */
  warmUpSteps: number
}

/** An event that the learner has acted on, for the journal. */
export type Finding =
  | { type: 'guard'; guard: string; message: string; peers?: string[] }
  | ({ type: 'sharing'; before: number; foreign: number } & Pick<
      SharingInfo,
      'verdict' | 'effect' | 'low' | 'high'
    >)

export interface LearnerParts {
  policy: LivePolicy
  plugins: PluginHost
  random(stream: string): Random
  /** Compute spent on a part of an update, including generation of own groups, in any unit that all parts share. */
  cost(part: PartReport): number
  /** Whether the swarm knows an author, for example because the user joined that peer. Default: nobody is known. */
  isKnown?(author: string): boolean
  /** Whether the user vouches for an author, so that its groups count as own groups. Default: nobody is trusted. */
  isTrusted?(author: string): boolean
  onFinding(finding: Finding): void
  phases?: Pick<Phases, 'run'> | undefined
  /** Of a node that makes receipts. */
  recorder?: StepRecorder | undefined
  /** Models that plugins train beside the policy, by role. */
  roles?: ReadonlyMap<string, Role> | undefined
  /**
   * Restores the newest checkpoint at or before that version, or else the oldest one, and drops own groups that are
   * waiting or being written. Undefined if there is no checkpoint.
   */
  restore(before: number): Promise<{ step: number } | undefined>
}

export interface Batch {
  groups: Group[]
  learnForeign: boolean
  compare: boolean
}

export interface UpdateOutcome extends UpdateReport {
  step: number
  own: number
  /** Foreign groups that were trained on. */
  foreign: number
  /** Foreign groups whose gradient was only measured. */
  probed: number
  /** Groups that plugins dropped or that could not be trained on. */
  dropped: number
  rollouts: number
  /** Staleness of each group, in policy versions. */
  ages: number[]
  pluginMetrics: Record<string, number>
  /**
   * Groups of each peer whose gradients are in the new weights, so none if the step was rolled back. An own group counts
   * for the peers whose rollouts are borrowed in it.
   */
  authors: Record<string, number>
  /** Set if the step ended in a roll-back. */
  rolledBack?: boolean
}

export interface Learner {
  /** The next batch; undefined while none is due. */
  choose(waiting: { own: readonly Group[]; foreign: readonly Group[] }): Batch | undefined
  /** One update; undefined if plugins left nothing to train on. */
  train(batch: Batch): Promise<UpdateOutcome | undefined>
  /**
   * Acts on alarms raised between steps. Call it while nothing else uses the policy, even when no batch is due: a
   * collapsed policy produces no group with a signal.
   */
  handleAlarms(): Promise<void>
  /** Tests the tokens of peers that have introduced themselves. Call it when `attend` may be called. */
  testNewcomers(): Promise<void>
  /** Lets plugins commit after a round with nothing to train on. Call it when `attend` may be called. */
  commitBarrenRound(): Promise<void>
  /**
   * Takes a verified foreign group without a signal; the next `meet` tests its tokens. False if that is not needed: the
   * author is known, or enough of its groups wait.
   */
  introduce(group: Group): boolean
  /** Whether nothing is known yet about this peer's policy, so that a group without a signal is useful. */
  isUnknown(author: string): boolean
  /** What each bet on a peer's tokens pays, by own tokens (../sharing/typicality.ts). */
  odds(): Odds
  /** Observes a new own group, with or without a signal. */
  ownGroup(group: Group): void
  /** `version`: of the weights that were evaluated. */
  evaluation(accuracy: number, prompts: number, version: number): void
  /** Peers' weights have done harm, as the watch over them says (../heads/watch.ts). */
  alarm(message: string, goodAt: number): void
  /** False for newcomers, who together get one author's share of the pool and of each draw. */
  isKnown(author: string): boolean
  /** Undefined until a foreign group has arrived, in this run or before the restored checkpoint. */
  sharing(): SharingInfo | undefined
  /** State for a checkpoint. */
  state(): LearnerState
}
