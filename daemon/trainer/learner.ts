// One node's learning, step by step: which groups make the next batch, the update, and what follows from it: how many
// foreign groups the next one has, whose groups are set aside, and whether to go back to the last good checkpoint.
// No loop and no clock: the train loop drives it in a daemon, experiments drive many of them in one process.

import type { SharingInfo } from '../../protocol/api/index.ts'
import type { BatchView, Random, RoleGroup } from '../../protocol/plugin/index.ts'
import { type Group, hasSignal, scoresOf } from '../../protocol/train/index.ts'
import type { TrainRequest } from '../engine/engine.ts'
import type { Host, HostBatch } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Aggregation } from './aggregation.ts'
import { chooseBatch } from './batch.ts'
import { type Alarm, createGuards } from './guards/index.ts'
import type { Role } from './roles.ts'
import { createRollBacks, type RollBackPlan } from './roll-back.ts'
import type { LearnerState } from './sharing/evidence.ts'
import { createLedger } from './sharing/ledger.ts'
import type { PartReport } from './step.ts'
import { type UpdateReport, update } from './update.ts'
import { summarize } from './watch.ts'

/** Read when used, except for the last two: they may change while the node runs. */
export interface LearnerOptions {
  /** I, and J at most. */
  sizes: { own: number; foreign: number }
  minibatches: number
  /** A mean over tokens if left out. */
  aggregation?: Aggregation
  temperature: number
  /** With the learning rate after the warm-up. */
  optimizer: TrainRequest['optimizer']
  /** Optimizer steps over which the learning rate rises linearly. */
  warmUpSteps: number
  /** This node's peer ID. */
  self: string
  /** False keeps J at its most, whatever the comparison says. */
  adaptive: boolean
  restored?: LearnerState | undefined
}

/** Something that was seen and acted on. */
export type Finding =
  | { type: 'guard'; guard: string; message: string; peers?: string[] }
  | ({ type: 'sharing'; before: number; foreign: number } & Pick<
      SharingInfo,
      'verdict' | 'effect' | 'low' | 'high'
    >)

export interface LearnerParts {
  policy: LivePolicy
  host: Host
  random(stream: string): Random
  /** Compute that a part of an update took, own groups' generation included; in any unit that is the same for all. */
  cost(part: PartReport): number
  /** Peers that might send groups. */
  peers(): number
  onFinding(finding: Finding): void
  /** Models of plugins, by role. */
  roles?: ReadonlyMap<string, Role> | undefined
  /**
   * Goes back to a checkpoint of that version or earlier, or the oldest there is, and drops own groups that wait or are
   * being written.
   */
  restore(before: number): Promise<{ step: number } | undefined>
}

export interface Batch {
  groups: Group[]
  learnForeign: boolean
  compare: boolean
}

export interface StepReport extends UpdateReport {
  step: number
  own: number
  /** Learnt from; those that were only looked at are in `probed`. */
  foreign: number
  probed: number
  /** Groups that plugins dropped. */
  dropped: number
  rollouts: number
  /** Versions between a group's making and its use, one per group. */
  ages: number[]
  pluginMetrics: Record<string, number>
  /** Groups by author. */
  authors: Record<string, number>
  /** Set when the step ended in going back to a checkpoint. */
  rolledBack?: boolean
}

export interface Learner {
  /** The next batch, while there are enough own groups. */
  choose(waiting: { own: readonly Group[]; foreign: readonly Group[] }): Batch | undefined
  /** Undefined when plugins left nothing to train on. */
  train(batch: Batch): Promise<StepReport | undefined>
  /**
   * Acts on alarms that came between steps. To be called while nothing else is done with the policy, also when there is
   * nothing to train on: a policy that has collapsed makes no group with a signal.
   */
  attend(): Promise<void>
  /** A round had nothing to train on: plugins commit all the same. To be called as `attend` is. */
  settle(): Promise<void>
  /** A fresh own group, of whatever signal. */
  ownGroup(group: Group): void
  evaluation(accuracy: number, prompts: number): void
  /** Undefined until a peer's group has come in, in this run or in one that the checkpoint knows of. */
  sharing(): SharingInfo | undefined
  /** What a checkpoint keeps. */
  state(): LearnerState
}

const NOTHING_LEARNT: UpdateReport = {
  steps: 1,
  skipped: [],
  gradientNorm: 0,
  ...summarize([]),
  parts: [],
}

export function createLearner(options: LearnerOptions, parts: LearnerParts): Learner {
  const { policy, host } = parts
  const ledger = createLedger(
    {
      get limit() {
        return options.sizes.foreign
      },
      adaptive: options.adaptive,
      restored: options.restored,
    },
    {
      cost: parts.cost,
      peers: parts.peers,
      onGuard: (finding) => parts.onFinding({ type: 'guard', ...finding }),
      onChange: (change) => parts.onFinding({ type: 'sharing', ...change }),
    },
  )
  const { authors, judge } = ledger
  const guards = createGuards()
  const rollBacks = createRollBacks({ authors, judge, guards, restore: parts.restore })
  /** In this run: who is alone compares with nobody. */
  let hasMet = false
  const knowsPeers = (): boolean => hasMet || options.restored?.evidence !== undefined
  /** Of roles that learnt without an update of the policy. */
  let leftOver: Record<string, number> = {}
  /** Alarms that came between two steps. */
  let pending: Alarm[] = []

  const isUseful = (group: Group): boolean => host.learnsFromAny || group.always === true || hasSignal(group)

  /** Longer ones the engine refuses, and the whole batch with them. */
  const fits = ({ conditioning, rollouts }: Group): boolean =>
    rollouts.every(
      (one) => (one.conditioning ?? conditioning).length + one.tokens.length <= policy.spec.contextLength,
    )

  /** Without an update, a step is counted all the same: plugins learn in it. */
  const learn: typeof update = (...given) =>
    host.updates ? update(...given) : Promise.resolve({ ...NOTHING_LEARNT })

  const learnRoles = async (texts: readonly RoleGroup[]): Promise<Record<string, number>> => {
    const metrics: Record<string, number> = {}
    for (const [name, role] of parts.roles ?? []) {
      const groups = texts.filter((group) => group.role === name)
      // What goes wrong with a role costs its step, not the policy's.
      const report = await role.learn(groups).catch((error: unknown) => {
        const message = `the ${name} did not learn: ${error instanceof Error ? error.message : error}`
        parts.onFinding({ type: 'guard', guard: 'role', message })
        return undefined
      })
      for (const [figure, value] of Object.entries(report ?? {})) metrics[`${name}.${figure}`] = value
    }
    return metrics
  }

  /** For plugins that learn from what brought nothing, too, such as a writer of hints. */
  const withoutUpdate = async (batch: HostBatch): Promise<void> => {
    const step = policy.reference().version
    const texts = await batch.commit({ step, metrics: {}, groups: [], advantages: [] })
    leftOver = { ...leftOver, ...(await learnRoles(texts)) }
  }

  const tell = (alarms: readonly Alarm[]): void => {
    for (const { guard, message } of alarms) parts.onFinding({ type: 'guard', guard, message })
  }

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
      const { version } = policy.reference()
      const groups = chooseBatch(
        { own: waiting.own, foreign: usable },
        { own: options.sizes.own, foreign },
        parts.random(`batch/${version}`),
      )
      return groups && { groups, learnForeign: learn, compare: compare && hasMet }
    },

    async train({ groups: chosen, learnForeign, compare }) {
      const { lineage, tokenizer, version } = policy.reference()
      const view: BatchView = { lineage, tokenizer, version, self: options.self }
      const batch = host.batch({ step: version })
      const groups = (await batch.group(chosen, view)).filter((group) => isUseful(group) && fits(group))
      const own = groups.filter(({ author }) => author === options.self).length
      if (own === 0) {
        await withoutUpdate(batch)
        return undefined
      }
      const advantages = await batch.advantage(groups)
      const columns = await batch.columns(advantages, groups)
      const { optimizer } = options
      const report = await learn(
        groups,
        advantages,
        {
          temperature: options.temperature,
          minibatches: options.minibatches,
          ...(options.aggregation && { aggregation: options.aggregation }),
          optimizer: {
            ...optimizer,
            learningRate:
              optimizer.learningRate * Math.min(1, (version + 1) / Math.max(1, options.warmUpSteps)),
            maxGradientNorm: Math.min(optimizer.maxGradientNorm, guards.normLimit()),
          },
          self: options.self,
          lineage,
          version,
          isBelieved: authors.isBelieved,
          columns,
          allowance: authors.allowance,
          weight: authors.weight,
          learnForeign,
          compare,
        },
        {
          engine: policy.trainer,
          objective: host.objective,
          random: parts.random(`minibatches/${version}`),
          reference: policy.scoreReference,
        },
      )
      await policy.advance(report.steps)
      const step = policy.reference().version
      const texts = await batch.commit({ step, metrics: report.metrics, groups, advantages })
      const roleMetrics = await learnRoles(texts)
      const untold = leftOver
      leftOver = {}
      ledger.observe(report.parts, learnForeign)
      rollBacks.batch(
        groups.flatMap(({ author }) => (learnForeign && author !== options.self ? [author] : [])),
      )
      const seen = host.updates ? guards.step({ ...report, entropy: report.watched.entropy }) : []
      tell(seen)
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
        pluginMetrics: { ...host.takeMetrics(), ...untold, ...roleMetrics },
        authors: countBy(groups.map(({ author }) => author)),
        ...(rolledBack ? { rolledBack } : {}),
      }
    },

    async attend() {
      const alarms = pending
      pending = []
      tell(alarms)
      const urgent = alarms.find(({ rollBack }) => rollBack)
      if (urgent) await goBack(urgent, policy.reference().version)
    },

    settle: () => withoutUpdate(host.batch({ step: policy.reference().version })),

    ownGroup(group) {
      const scores = scoresOf(group)
      if (scores.length === 0) return
      pending.push(...guards.ownGroup(scores.reduce((sum, score) => sum + score, 0) / scores.length))
    },

    evaluation(accuracy, prompts) {
      pending.push(...guards.evaluation(accuracy, prompts))
    },

    sharing: () => (knowsPeers() ? ledger.info(options.sizes.own) : undefined),

    state() {
      const { setAside, evidence } = ledger.save()
      return knowsPeers() ? { setAside, evidence } : { setAside }
    },
  }
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
