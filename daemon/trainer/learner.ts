// The learner of one node: chooses each batch, runs the update and acts on the result. It adjusts J, sets authors aside
// and rolls back to a checkpoint. It has no loop and no clock: in a daemon the train loop drives it, and experiments
// drive many learners in one process.

import { scoresOf } from '../../protocol/train/index.ts'
import { createPromptMix } from './batch/prompt-mix.ts'
import { createGuards } from './guards/index.ts'
import { nameOf } from './guards/level.ts'
import { choose } from './learning/choose.ts'
import type { Learner, LearnerOptions, LearnerParts } from './learning/contract.ts'
import { actOn, type Inside, knowsPeers, trainableOf } from './learning/inside.ts'
import { train, withoutUpdate } from './learning/train.ts'
import { createWeights } from './learning/weights.ts'
import { createRollBacks } from './roll-back.ts'
import { createIntroductions } from './sharing/introductions.ts'
import { createSharingRecord, type SharingRecord } from './sharing/sharing-record.ts'

export function createLearner(options: LearnerOptions, parts: LearnerParts): Learner {
  const record = openRecord(options, parts)
  const { authors, judge } = record
  const guards = createGuards()
  const inside: Inside = {
    ...{ options, parts, record, guards },
    rollBacks: createRollBacks({ authors, judge, guards, restore: parts.restore }),
    weights: createWeights({ authors, isKnown: parts.isKnown, isTrusted: parts.isTrusted }),
    mix: createPromptMix(),
    state: { hasMet: false, leftOver: {}, withoutOwn: 0, pending: [] },
  }
  const { weights, mix, state } = inside
  const { policy, plugins } = parts
  const introductions = createIntroductions(
    { temperature: options.temperature },
    {
      ...{ authors, isUnknown: weights.isUnknown, mix, random: parts.random, engine: policy.trainer },
      scorable: (groups) => trainableOf(groups, inside),
      onFinding: (finding) => parts.onFinding({ type: 'guard', ...finding }),
    },
  )
  return {
    choose: (waiting) => choose(waiting, inside),
    train: (batch) => train(batch, inside),

    async handleAlarms() {
      const alarms = state.pending
      state.pending = []
      await actOn(alarms, policy.reference().version, inside)
    },

    testNewcomers: introductions.scoreWaiting,

    introduce(group) {
      const isTaken = introductions.add(group)
      state.hasMet ||= isTaken
      return isTaken
    },

    odds: authors.odds,
    isUnknown: weights.isUnknown,
    isKnown: weights.isKnown,

    commitBarrenRound: () => withoutUpdate(plugins.batch({ step: policy.reference().version }), inside),

    ownGroup(group) {
      mix.add(group)
      introductions.earn(group)
      const scores = scoresOf(group)
      if (scores.length === 0) return
      const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
      state.pending.push(...guards.ownGroup(nameOf(group.prompt), mean, policy.reference().version))
    },

    evaluation(...seen) {
      state.pending.push(...guards.evaluation(...seen))
    },

    alarm(message, goodAt) {
      state.pending.push({ guard: 'weights', message, rollBack: true, goodAt })
    },

    sharing: () => (knowsPeers(inside) ? record.info() : undefined),

    state() {
      const { setAside, evidence } = record.save()
      return knowsPeers(inside) ? { setAside, evidence } : { setAside }
    },
  }
}

function openRecord(
  { settings, adaptive, restored }: LearnerOptions,
  { cost, onFinding }: LearnerParts,
): SharingRecord {
  return createSharingRecord(
    {
      settings() {
        const { own, foreign } = settings().sizes
        return { limit: foreign, batchGroups: own }
      },
      ...{ adaptive, restored },
    },
    {
      cost,
      onGuard: (finding) => onFinding({ type: 'guard', ...finding }),
      onChange: (change) => onFinding({ type: 'sharing', ...change }),
    },
  )
}
