// The learner of one node: chooses each batch, runs the update and acts on the result. It adjusts J, sets authors aside
// and rolls back to a checkpoint. It has no loop and no clock: in a daemon the train loop drives it, and experiments
// drive many learners in one process.

import { NO_PHASES, type Phases, type SharingInfo } from '../../protocol/api/index.ts'
import type { BatchView, Random, RoleGroup } from '../../protocol/plugin/index.ts'
import { type Group, scoresOf } from '../../protocol/train/index.ts'
import type { TrainRequest } from '../engine/engine.ts'
import type { PluginBatch, PluginHost } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Aggregation } from './aggregation.ts'
import { chooseBatch } from './batch.ts'
import { joinEpisodes, splitEpisodes } from './episodes.ts'
import { type Alarm, createGuards } from './guards/index.ts'
import { createPromptMix } from './prompt-mix.ts'
import type { Role } from './roles.ts'
import { createRollBacks, type RollBackPlan } from './roll-back.ts'
import { filledBatch } from './sharing/batch-size.ts'
import type { LearnerState } from './sharing/evidence.ts'
import { createIntroductions } from './sharing/introductions.ts'
import type { PartReport } from './sharing/mixing/part.ts'
import { createSharingRecord } from './sharing/sharing-record.ts'
import { isUseful, untrainable } from './trainable.ts'
import { type UpdateReport, update } from './update.ts'
import { evidenceOf, summarize } from './watch.ts'

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
   * (default: I). A waiting foreign group counts by its author's standing.
   */
  sizes: { own: number; foreign: number; due?: number }
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
  /** Number of groups by author. A group also counts for the authors of rollouts borrowed in it. */
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
  /** Observes a new own group, with or without a signal. */
  ownGroup(group: Group): void
  evaluation(accuracy: number, prompts: number): void
  /** False for newcomers, who together get one author's share of the pool and of each draw. */
  isKnown(author: string): boolean
  /** Undefined until a foreign group has arrived, in this run or before the restored checkpoint. */
  sharing(): SharingInfo | undefined
  /** State for a checkpoint. */
  state(): LearnerState
}

/**
 * Maximum number of consecutive updates without an own group. After these, own rollouts must confirm where the policy
 * has gone. This way a node whose own groups rarely have a signal still makes most of its steps.
 */
const MAX_WITHOUT_OWN = 4

const NOTHING_LEARNT: UpdateReport = {
  steps: 1,
  skipped: [],
  gradientNorm: 0,
  ...summarize([]),
  parts: [],
  trainedOn: { own: 0, foreign: {} },
}

export function createLearner(options: LearnerOptions, parts: LearnerParts): Learner {
  const { policy, plugins } = parts
  const record = createSharingRecord(
    {
      settings() {
        const { own, foreign } = options.settings().sizes
        return { limit: foreign, batchGroups: own }
      },
      adaptive: options.adaptive,
      restored: options.restored,
    },
    {
      cost: parts.cost,
      onGuard: (finding) => parts.onFinding({ type: 'guard', ...finding }),
      onChange: (change) => parts.onFinding({ type: 'sharing', ...change }),
    },
  )
  const { authors, judge } = record
  const guards = createGuards()
  const rollBacks = createRollBacks({ authors, judge, guards, restore: parts.restore })
  const isKnown = (author: string): boolean => authors.hasEarned(author) || (parts.isKnown?.(author) ?? false)
  /** Whether a foreign group has arrived in this run. Until then there is nothing to compare. */
  let hasMet = false
  const knowsPeers = (): boolean => hasMet || options.restored?.evidence !== undefined
  /** Metrics of roles that learnt without a policy update; reported with the next one. */
  let leftOver: Record<string, number> = {}
  /** Updates since the last one with own groups. */
  let withoutOwn = 0
  const stepsWithoutOwn = (): boolean => record.meanOwn !== undefined && withoutOwn < MAX_WITHOUT_OWN
  const earnedWeight = (author: string, report?: PartReport): number | undefined =>
    parts.isTrusted?.(author) ? 1 : authors.earnedWeight(author, report && evidenceOf(report))
  /**
   * Weight of an author's group in a batch, where an own group has 1. Newcomers' groups join batches but make none due:
   * there would be nothing to bound a step made of their groups alone.
   */
  const weightOf = (author: string): number => earnedWeight(author) ?? 0
  /**
   * Number of peers whose groups have weight. Infinite if the user vouches for one: it may fill the peers' part of a
   * batch alone.
   */
  const equalsAmong = (groups: readonly Group[]): number => {
    const peers = [...new Set(groups.map(({ author }) => author))].filter((author) => weightOf(author) > 0)
    return peers.some((peer) => parts.isTrusted?.(peer)) ? Number.POSITIVE_INFINITY : peers.length
  }
  const mix = createPromptMix()
  /** Alarms raised since the last step. */
  let pending: Alarm[] = []

  const isTrainable = (group: Group): boolean => untrainable(group, policy.spec) === undefined

  /** The groups that an engine can train on. Reports invalid groups and sets the peers that sent them aside. */
  const trainableOf = (groups: readonly Group[]): Group[] => {
    const blamed = new Map<string, string>()
    const kept = groups.filter((group) => {
      const fault = untrainable(group, policy.spec)
      if (fault?.blamesAuthor) blamed.set(group.author, fault.reason)
      return fault === undefined
    })
    for (const [author, reason] of blamed) {
      const isPeer = author !== options.self
      if (isPeer) authors.setAside(author, `sent a group that cannot be trained on: ${reason}`)
      parts.onFinding({
        type: 'guard',
        guard: 'untrainable',
        message: `${isPeer ? "a peer's group" : 'an own group'} was left out because it cannot be trained on: ${reason}`,
        ...(isPeer ? { peers: [author] } : {}),
      })
    }
    return kept
  }

  /** An estimator may want no policy update. The step still counts, because plugins learn in it. */
  const learn: typeof update = (...given) =>
    plugins.updates ? update(...given) : Promise.resolve({ ...NOTHING_LEARNT })

  const learnRoles = async (texts: readonly RoleGroup[]): Promise<Record<string, number>> => {
    const metrics: Record<string, number> = {}
    for (const [name, role] of parts.roles ?? []) {
      const groups = texts.filter((group) => group.role === name)
      // A role that fails loses its own step; the policy keeps its update.
      const report = await role.learn(groups).catch((error: unknown) => {
        const message = `the ${name} did not learn: ${error instanceof Error ? error.message : error}`
        parts.onFinding({ type: 'guard', guard: 'role', message })
        return undefined
      })
      for (const [figure, value] of Object.entries(report ?? {})) metrics[`${name}.${figure}`] = value
    }
    return metrics
  }

  /**
   * Commits without a policy update, for plugins that also learn from groups without a signal, such as hint
   * writers.
   */
  const withoutUpdate = async (batch: PluginBatch): Promise<void> => {
    const step = policy.reference().version
    const texts = await batch.commit({ step, metrics: {}, groups: [], advantages: [] })
    leftOver = { ...leftOver, ...(await learnRoles(texts)) }
  }

  const reportAll = (alarms: readonly Alarm[]): void => {
    for (const { guard, message } of alarms) parts.onFinding({ type: 'guard', guard, message })
  }

  const isUnknown = (author: string): boolean =>
    !(parts.isTrusted?.(author) ?? false) && authors.isUnknown(author)

  const introductions = createIntroductions(
    { temperature: options.temperature },
    {
      ...{ authors, isUnknown, mix, random: parts.random, engine: policy.trainer },
      scorable: trainableOf,
      onFinding: (finding) => parts.onFinding({ type: 'guard', ...finding }),
    },
  )

  const goBack = async (alarm: Alarm, version: number): Promise<boolean> => {
    const plan: RollBackPlan | undefined = await rollBacks.handle(alarm, version)
    if (plan)
      parts.onFinding({ type: 'guard', guard: 'roll-back', message: plan.message, peers: plan.authors })
    return plan?.restored ?? false
  }

  return {
    choose(waiting) {
      const { foreign, learn, compare } = judge.next()
      const usable = waiting.foreign.filter(({ author }) => !authors.isSetAside(author))
      hasMet ||= waiting.foreign.length > 0
      // After a restart, the pool holds own groups from before it.
      if (mix.tokens === undefined) for (const group of waiting.own) mix.add(group)
      const { version } = policy.reference()
      const { own, due = own } = options.settings().sizes
      const filled = filledBatch(own, learn ? equalsAmong(usable) : 0)
      const isFilled = options.adaptive && foreign >= filled.foreign
      const groups = chooseBatch(
        { own: waiting.own, foreign: usable },
        {
          ...{ own, foreign, due, mayLackOwn: learn && stepsWithoutOwn() },
          ...(isFilled && filled),
        },
        { random: parts.random(`batch/${version}`), mix, isKnown, weightOf: learn ? weightOf : () => 0 },
      )
      return groups && { groups, learnForeign: learn, compare: compare && hasMet }
    },

    async train({ groups: chosen, learnForeign, compare }) {
      const { lineage, tokenizer, version } = policy.reference()
      const view: BatchView = { lineage, tokenizer, version, self: options.self }
      const batch = plugins.batch({ step: version })
      const groups = (await batch.group(trainableOf(chosen), view)).filter(
        (group) => isUseful(group, plugins) && isTrainable(group),
      )
      const own = groups.filter(({ author }) => author === options.self).length
      if (groups.length === 0 || (own === 0 && !(learnForeign && stepsWithoutOwn()))) {
        await withoutUpdate(batch)
        return undefined
      }
      const advantages = splitEpisodes(await batch.advantage(joinEpisodes(groups)), groups)
      const teaching = await batch.teach(groups)
      const columns = await batch.columns(advantages, groups)
      const { optimizer, minibatches, aggregation, warmUpSteps } = options.settings()
      const report = await learn(
        groups,
        advantages,
        {
          temperature: options.temperature,
          minibatches,
          ...(aggregation && { aggregation }),
          optimizer: {
            ...optimizer,
            learningRate: optimizer.learningRate * Math.min(1, (version + 1) / Math.max(1, warmUpSteps)),
            maxGradientNorm: Math.min(optimizer.maxGradientNorm, guards.normLimit()),
          },
          self: options.self,
          lineage,
          version,
          isBelieved: (author) => parts.isTrusted?.(author) || authors.isBelieved(author),
          ...{ columns, teaching },
          earnedWeight,
          meanOwn: record.meanOwn,
          learnForeign,
          compare,
        },
        {
          engine: policy.trainer,
          objective: plugins.objective,
          random: parts.random(`minibatches/${version}`),
          reference: (request) => policy.under(policy.initial, ({ score }) => score(request)),
          phases: parts.phases,
        },
      )
      if (report.steps > 0) withoutOwn = own > 0 ? 0 : withoutOwn + 1
      await (parts.phases ?? NO_PHASES).run('hand', {}, () => policy.advance(report.steps))
      const step = policy.reference().version
      const texts = await batch.commit({ step, metrics: report.metrics, groups, advantages })
      const roleMetrics = await learnRoles(texts)
      const unreported = leftOver
      leftOver = {}
      record.observe(report.parts, learnForeign)
      rollBacks.batch(
        groups.flatMap((group) =>
          authorsOf(group).filter(
            (author) => author !== options.self && (learnForeign || author !== group.author),
          ),
        ),
      )
      const seen = plugins.updates ? guards.step({ ...report, entropy: report.watched.entropy }) : []
      reportAll(seen)
      const bad = seen.find(({ rollBack }) => rollBack)
      const rolledBack = bad ? await goBack(bad, step) : false
      return {
        ...report,
        step: policy.reference().version,
        own,
        foreign: learnForeign ? groups.length - own : 0,
        probed: learnForeign ? 0 : groups.length - own,
        dropped: chosen.length - groups.length,
        rollouts: groups.reduce((total, { rollouts }) => total + rollouts.length, 0),
        ages: groups.map((group) => Math.max(0, version - group.bornVersion)),
        pluginMetrics: { ...plugins.takeMetrics(), ...unreported, ...roleMetrics },
        authors: countBy(groups.flatMap(authorsOf)),
        ...(rolledBack ? { rolledBack } : {}),
      }
    },

    async handleAlarms() {
      const alarms = pending
      pending = []
      reportAll(alarms)
      const urgent = alarms.find(({ rollBack }) => rollBack)
      if (urgent) await goBack(urgent, policy.reference().version)
    },

    testNewcomers: introductions.scoreWaiting,

    introduce(group) {
      const isTaken = introductions.add(group)
      hasMet ||= isTaken
      return isTaken
    },

    isUnknown,

    commitBarrenRound: () => withoutUpdate(plugins.batch({ step: policy.reference().version })),

    ownGroup(group) {
      mix.add(group)
      introductions.earn(group)
      const scores = scoresOf(group)
      if (scores.length === 0) return
      pending.push(...guards.ownGroup(scores.reduce((sum, score) => sum + score, 0) / scores.length))
    },

    evaluation(accuracy, prompts) {
      pending.push(...guards.evaluation(accuracy, prompts))
    },

    isKnown,

    sharing: () => (knowsPeers() ? record.info() : undefined),

    state() {
      const { setAside, evidence } = record.save()
      return knowsPeers() ? { setAside, evidence } : { setAside }
    },
  }
}

/** The group's author, and those of borrowed rollouts in it. */
function authorsOf({ author, rollouts }: Group): string[] {
  return [...new Set([author, ...rollouts.map((rollout) => rollout.author ?? author)])]
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
