// What a life learns with: audits, heads, saving and the core, and the checks around each batch and step.

import type { NodeCore } from '../../../daemon/core/core.ts'
import type { PluginHost } from '../../../daemon/host/host.ts'
import { openCore } from '../../../daemon/node/core.ts'
import { openHeads } from '../../../daemon/node/heads/open.ts'
import { openProbation } from '../../../daemon/node/heads/probation-record.ts'
import type { Models } from '../../../daemon/node/policy/models.ts'
import { createSaving } from '../../../daemon/node/saving.ts'
import type { LivePolicy } from '../../../daemon/policy/live-policy.ts'
import { trainedMeta } from '../../../daemon/policy/trained.ts'
import type { TaskBook } from '../../../daemon/rollout/tasks.ts'
import type { Swarm } from '../../../daemon/swarm/index.ts'
import { tokensIn } from '../../../daemon/trainer/batch/prompt-mix.ts'
import { NO_PHASES } from '../../../protocol/api/index.ts'
import { openSimulatedAudits, type SimulatedAudits } from '../audits.ts'
import { model } from '../policy.ts'
import type { Life } from './disk.ts'
import type { Lasting } from './lasting.ts'
import type { Records } from './records.ts'
import type { Storage } from './storage.ts'
import type { Times } from './times.ts'

export interface LearningParts {
  node: Lasting
  times: Times
  storage: Storage
  records: Records
  policy: LivePolicy
  plugins: PluginHost
  tasks: TaskBook
  isKnown(peer: string): boolean
  /** Undefined until the network is open. */
  swarm(): Pick<Swarm, 'heads' | 'peers' | 'isPrivate' | 'receipts' | 'isKnown' | 'accuse'> | undefined
}

export type Learning = Awaited<ReturnType<typeof openLearning>>
type Heads = ReturnType<typeof openHeads>

export async function openLearning(life: Life, parts: LearningParts) {
  const { node, times, storage, records, policy, plugins, isKnown } = parts
  const { settings, self, name, world, random } = node
  const { journal, pool, parked } = records
  const { database, restored } = storage
  const audits = openAudits(parts, () => core)
  const probation = await openProbation(policy, { database, log: times.log })
  const heads = openNodeHeads(life, { ...parts, audits, probation, core: () => core })
  const saving = openSaving({ ...parts, audits, heads, core: () => core })
  const core: NodeCore = openCore(
    {
      settings: () => settings,
      self,
      seed: Math.floor(random.next() * 2 ** 31),
      restored: restored?.state.learner,
    },
    {
      ...{ policy, plugins, pool, parked, isKnown, roles: new Map(), phases: NO_PHASES },
      isJoined: heads.isAveraged,
      nodes: () => heads.nodes,
      recorder: audits.recorder,
      journal: {
        finding(finding, step) {
          world.note(
            `${name} ${finding.type === 'guard' ? `${finding.guard}: ${finding.message}` : finding.type}`,
          )
          journal.finding(finding, step)
        },
      },
      restore: saving.restore,
    },
  )
  return { audits, heads, saving, core: watchedCore(core, { life, node, policy }) }
}

function openAudits(
  { node, times, storage, policy, plugins, swarm }: LearningParts,
  core: () => NodeCore,
): SimulatedAudits {
  const { settings, self, name, world, identity, auditRandom, auditSeconds } = node
  return openSimulatedAudits(
    { settings, self, restored: storage.restored?.receipt, seconds: auditSeconds },
    {
      ...{ policy, plugins, disk: storage.port, signer: identity.signer, now: times.clock.now },
      ...{ swarm, monotonic: () => world.time, random: auditRandom.next },
      odds: () => core().learner.odds(),
      log: (message) => world.note(`${name} ${message}`),
    },
  )
}

function openNodeHeads(
  life: Life,
  {
    node: { settings, self, name, world, headRandom },
    times: { after, clock },
    storage,
    records,
    policy,
    tasks,
    audits,
    probation,
    core,
    swarm,
  }: LearningParts & {
    audits: SimulatedAudits
    probation: Awaited<ReturnType<typeof openProbation>>
    core(): NodeCore
  },
): Heads {
  const { journal, trainedOn, changed } = records
  const { restored } = storage
  return openHeads(
    { settings: () => settings, isLineageKnown: true },
    {
      ...{ self, policy, probation, tasks, trainedOn, phases: NO_PHASES, now: clock.now },
      journal: {
        ...journal,
        log(level, message) {
          world.note(`${name} ${message}`)
          journal.log(level, message)
        },
      },
      random: headRandom.next,
      wake: () => changed.wake(),
      mustWait: () => !life.isAlive,
      alarm: (message, goodAt) => core().alarm(message, goodAt),
      isUnknown: (author) => core().learner.isUnknown(author),
      joined: restored && trainedMeta(restored.checkpoint.manifest.meta).joined,
      ...{ after, audits, swarm },
      hasTeacher: false,
    },
  )
}

function openSaving({
  node,
  storage,
  records,
  policy,
  plugins,
  audits,
  heads,
  core,
}: LearningParts & { audits: SimulatedAudits; heads: Heads; core(): NodeCore }) {
  const { parked, journal, flushed, record, rounds } = records
  return createSaving({
    ...{ plugins, parked, checkpoints: storage.checkpoints, journal, disk: storage.port, pool: flushed },
    models: { model, base: { name: 'tiny', directory: '/' } } as unknown as Pick<Models, 'model' | 'base'>,
    ...{ record, heads, audits },
    policies: { policy, roles: new Map(), restoreRoles: async () => {} },
    schedule: () => node.settings.checkpoint,
    isRestored: storage.restored !== undefined,
    mayWrite: () => true,
    rounds: () => rounds.count,
    learner: () => core().learner.state(),
    headLineage: policy.lineage,
    monotonic: () => node.world.time,
    phases: NO_PHASES,
  })
}

/** The checks hear of each batch, and of what became of it. */
function watchedCore(
  core: NodeCore,
  { life, node: { name, world, checks, tokens }, policy }: { life: Life; node: Lasting; policy: LivePolicy },
): NodeCore {
  return {
    ...core,
    onOwnGroup(group) {
      tokens.own += tokensIn(group)
      return core.onOwnGroup(group)
    },
    get room() {
      return core.room
    },
    get next() {
      return core.next
    },
    get isBarren() {
      return core.isBarren
    },
    get isSaveUrgent() {
      return core.isSaveUrgent
    },
    nextBatch() {
      const training = core.nextBatch()
      if (training && life.isAlive) {
        world.note(`${name} batch ${training.groups.map(({ id }) => id.slice(0, 8)).join(' ')}`)
        checks.batch(training.groups, policy.reference().version)
      }
      return training
    },
    async train(batch) {
      try {
        const report = await core.train(batch)
        if (!life.isAlive) return report
        if (!report || report.steps === 0) checks.untrained(batch.groups)
        else checks.stepped(batch.groups, policy.reference().version, report.rolledBack === true)
        return report
      } catch (error) {
        if (life.isAlive) checks.untrained(batch.groups)
        throw error
      }
    },
  }
}
