// The core of a node makes its decisions and never waits: which groups to keep and share, when a batch is due, the cost
// of an own group, when groups are too old, and what a roll-back drops.
//
// It has no loops, clocks, sockets or files. The daemon drives it with its loops; experiments drive it in rounds.

import type { Evaluation } from '../../protocol/api/index.ts'
import { type Group, hasSignal, isPlain, isShareable } from '../../protocol/train/index.ts'
import { MAX_ROLLOUTS, MIN_ROLLOUTS } from '../../protocol/wire/index.ts'
import type { OwnOrForeign, Pool } from '../store/pool/pool.ts'
import { type Room, roomFor } from '../trainer/batch/batch-size.ts'
import { createLearner } from '../trainer/learner.ts'
import type {
  Batch,
  Learner,
  LearnerOptions,
  LearnerParts,
  LearnerSettings,
  UpdateOutcome,
} from '../trainer/learning/contract.ts'
import type { PartReport } from '../trainer/sharing/mixing/part.ts'
import { isUseful } from '../trainer/trainable.ts'

export interface CoreOptions extends LearnerOptions {
  /** The settings as they are now. */
  settings(): CoreSettings
}

interface CoreSettings extends LearnerSettings {
  /** Maximum staleness of a group when it is used, in policy versions. */
  maxStaleness: number
}

export interface CoreParts extends Omit<LearnerParts, 'cost' | 'restore'> {
  pool: Pick<Pool, 'add' | 'select' | 'markUsed' | 'evict' | 'retire'>
  /** True for authors whose weights are averaged: none of their groups is trained on. Default: none. */
  isJoined?: ((author: string) => boolean) | undefined
  /** Compute spent on training on one author's part of an update, in the unit of `onRound`'s cost. */
  trainingCost(part: PartReport): number
  /** Restores the newest checkpoint at or before that version, or else the oldest; undefined if there is none. */
  restore(before: number): Promise<{ step: number } | undefined>
}

export interface NodeCore {
  readonly learner: Pick<Learner, 'isKnown' | 'isUnknown' | 'odds' | 'sharing' | 'state'>
  /** Call when a round of own prompts has been generated, before `onOwnGroup`. `cost`: compute, in any unit. */
  onRound(round: { cost: number }): void
  /** Takes a verified own group and keeps it if it is useful. `isShared`: whether to publish it to peers. */
  onOwnGroup(group: Group): { isShared: boolean }
  /**
   * Takes a verified foreign group. False if it is useless: its content was seen before, or it has no signal and its
   * author is known.
   */
  onForeignGroup(group: Group): boolean
  /** False if it is of weights that a roll-back discarded: it does not count. */
  onEvaluation(evaluation: Pick<Evaluation, 'accuracy' | 'prompts' | 'version'>): boolean
  /** Peers' weights have done harm: training goes back to an earlier checkpoint. */
  alarm(message: string, goodAt: number): void
  /** Useful groups that have not been trained on, oldest first. */
  waiting(origin: OwnOrForeign): Group[]
  /**
   * How many own groups with a signal may wait. While batches also contain peers' groups, it is twice the own groups in
   * such a batch, so that own groups are generated only as they are needed.
   */
  readonly room: Room
  /** Waiting own groups that are useful, and how many make a batch without peers' groups due. */
  readonly next: { waiting: number; due: number }
  /** True for versions whose weights a roll-back discarded: their rollouts must be dropped. */
  isThrownAway(version: number): boolean
  /** Acts on alarms raised between two steps. */
  handleAlarms(): Promise<void>
  /** Tests the tokens of peers that introduced themselves. */
  testNewcomers(): Promise<void>
  /** The next batch, if one is due. Marks its groups as used. */
  nextBatch(): Batch | undefined
  /**
   * One update; undefined if plugins left nothing in the batch to train on. Evicts groups that were used or are too
   * old.
   */
  train(batch: Batch): Promise<UpdateOutcome | undefined>
  /** True if a round gave nothing to train on and plugins have not been told yet. */
  readonly isBarren: boolean
  /** Lets plugins learn from such a round. */
  commitBarrenRound(): Promise<void>
  /** True until a checkpoint has been saved after a roll-back. */
  readonly isSaveUrgent: boolean
  onSaved(): void
}

/**
 * Number of own groups shared after the start, and after a group from an unknown peer, even if they have no signal.
 * Peers use them to find out whose policy is like theirs; otherwise they would have to wait for rare signals.
 */
const INTRODUCTION = 24

/** Decay per round of the mean cost of an own group. */
const FADE = 0.9

export function createCore(options: CoreOptions, parts: CoreParts): NodeCore {
  const { pool, policy, plugins } = parts
  const generation = createGeneration()
  const rollBack = createRollBack(parts)
  /** Number of groups still to be shared even if they have no signal. */
  let owed = INTRODUCTION
  /** Number of own groups in the last batch if it also had foreign ones; otherwise, or if none was due, undefined. */
  let taken: number | undefined

  const learner = createLearner(options, {
    ...parts,
    cost: (part) =>
      parts.trainingCost(part) + (part.author === undefined ? generation.costOf(part.groups) : 0),
    restore: (before) => rollBack.restore(before),
  })

  const waiting = (origin: OwnOrForeign): Group[] =>
    pool
      .select({
        origin,
        count: Number.POSITIVE_INFINITY,
        order: 'newest',
        where: ({ group, uses }) =>
          uses === 0 && isUseful(group, plugins) && !(origin === 'foreign' && parts.isJoined?.(group.author)),
      })
      .map(({ group }) => group)
      .reverse()

  return {
    learner,
    waiting,

    onRound: (round) => generation.onRound(round),

    onOwnGroup(group) {
      learner.ownGroup(group)
      if (isUseful(group, plugins)) {
        generation.onUsefulGroup()
        pool.add(group, 'own')
      }
      const isShared = fitsMessage(group) && (isShareable(group) || (owed > 0 && isPlain(group)))
      if (!isShared) return { isShared }
      owed = Math.max(0, owed - 1)
      // So that no peer can send it back as its own, not even after a restart.
      if (!isUseful(group, plugins)) pool.retire([group.id])
      return { isShared }
    },

    onForeignGroup(group) {
      if (learner.isUnknown(group.author)) owed = INTRODUCTION
      if (!hasSignal(group)) return learner.introduce(group)
      const isNew = pool.add(group, 'foreign')
      if (isNew) plugins.arrived(parts.isTrusted?.(group.author) ? { ...group, trusted: true } : group)
      return isNew
    },
    get room() {
      const { sizes, maxStaleness } = options.settings()
      const batch = taken === undefined ? sizes.own : Math.max(1, taken)
      return roomFor({ batch, whole: taken === undefined ? sizes.whole : batch }, maxStaleness)
    },
    get next() {
      const { own, due = own } = options.settings().sizes
      return { waiting: waiting('own').length, due }
    },
    onEvaluation({ accuracy, prompts, version }) {
      if (rollBack.isThrownAway(version)) return false
      learner.evaluation(accuracy, prompts, version)
      return true
    },
    ...{ alarm: learner.alarm, handleAlarms: learner.handleAlarms, testNewcomers: learner.testNewcomers },
    isThrownAway: rollBack.isThrownAway,

    nextBatch() {
      const batch = learner.choose({ own: waiting('own'), foreign: waiting('foreign') })
      const own = batch?.groups.filter(({ author }) => author === options.self).length
      taken = own === batch?.groups.length ? undefined : own
      if (batch)
        pool.markUsed(
          batch.groups.map(({ id }) => id),
          policy.reference().version,
        )
      return batch
    },

    async train(batch) {
      const report = await learner.train(batch)
      const { version } = policy.reference()
      if (report)
        pool.evict(
          ({ uses, group }) => uses > 0 || version - group.bornVersion > options.settings().maxStaleness,
        )
      return report
    },

    get isBarren() {
      return generation.isBarren
    },
    async commitBarrenRound() {
      generation.isBarren = false
      await learner.commitBarrenRound()
    },

    get isSaveUrgent() {
      return rollBack.isSaveUrgent
    },
    onSaved() {
      rollBack.isSaveUrgent = false
    },
  }
}

/** What own groups cost, and whether rounds bring any that are useful. */
function createGeneration() {
  /** Decayed cost of recent rounds, and decayed number of their useful groups. */
  let [cost, groups] = [0, 0]
  /** Whether the newest round gave a useful group. */
  let hasBrought = true
  return {
    /** Whether an earlier round gave none. */
    isBarren: false,
    onRound(round: { cost: number }): void {
      // The previous round is complete: all its groups have arrived.
      if (!hasBrought) this.isBarren = true
      hasBrought = false
      cost = FADE * cost + round.cost
      groups *= FADE
    },
    onUsefulGroup(): void {
      groups += 1
      hasBrought = true
    },
    costOf: (count: number): number => (count * cost) / Math.max(1, groups),
  }
}

/** Restores checkpoints, and knows what was discarded. */
function createRollBack({ pool, policy, restore }: CoreParts) {
  /** Newest version that a roll-back discarded. A roll-back does not lower the version. */
  let thrownAway = -1
  return {
    isSaveUrgent: false,
    isThrownAway: (version: number): boolean => version <= thrownAway,
    async restore(before: number): Promise<{ step: number } | undefined> {
      const earlier = thrownAway
      // Set before restoring, so that a round in progress ends early.
      thrownAway = policy.reference().version
      let restored: { step: number } | undefined
      try {
        restored = await restore(before)
      } finally {
        if (!restored) thrownAway = earlier
      }
      // Own groups from the discarded policy must not be trained on.
      if (restored) {
        this.isSaveUrgent = true
        pool.evict(({ origin, uses }) => origin === 'own' && uses === 0)
      }
      return restored
    },
  }
}

/** False for a group that a plugin has made too small or too large for a message. */
function fitsMessage({ rollouts }: Group): boolean {
  return rollouts.length >= MIN_ROLLOUTS && rollouts.length <= MAX_ROLLOUTS
}
