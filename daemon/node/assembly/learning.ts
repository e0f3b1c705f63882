// What a node learns with: peers' heads, plugins with their world, checkpoints, and the core, which decides.

import { randomStream } from '../../host/random.ts'
import { trainedMeta } from '../../policy/trained.ts'
import { createParkedGroups } from '../../rollout/parked/parked.ts'
import { createPluginWorld } from '../../rollout/plugins/plugin-world.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { createTrainingRecord } from '../../trainer/checkpoints/training-record.ts'
import { openCore } from '../core.ts'
import { trainingFacts } from '../facts/training-facts.ts'
import type { NodeHeads } from '../heads/heads.ts'
import { openHeads } from '../heads/open.ts'
import { openProbation } from '../heads/probation-record.ts'
import { hasTeacher, openTeachers } from '../policy/teachers.ts'
import { makeWarmStart } from '../policy/warm-start.ts'
import { openRounds } from '../rounds.ts'
import { createSaving } from '../saving.ts'
import { createNodeState, type Wishes } from '../state.ts'
import { openNodeAudits } from './audits.ts'
import type { NodeContext } from './context.ts'
import type { Plugins } from './plugins.ts'
import type { Trained } from './policy.ts'
import type { Records } from './records.ts'
import type { Store } from './store.ts'

type Parts = Store & Plugins & Trained & Records

export type Learning = Awaited<ReturnType<typeof openLearning>>

export async function openLearning(context: NodeContext, parts: Parts) {
  const { started, machine, settings, self, seed, changed, late } = context
  const { config } = context.options
  const { events, log, closers, phases } = started
  const { limits, pool, tasks, host, models, policies, restored, checkpoints, journal } = parts
  const { policy, roles } = policies
  const meta = restored && trainedMeta(restored.checkpoint.manifest.meta)
  // Adapters of older checkpoints began with values of their own.
  const isLineageKnown = !restored?.adapter || restored.state.headLineage === policy.lineage
  const wishes: Wishes = { paused: false, stopping: false }
  const mustWait = (): boolean => wishes.paused || limits.mustWait()
  const { now, after, random, monotonic } = machine
  const audits = await openNodeAudits(context, parts)
  const probation = await openProbation(policy, { database: started.home.database, log: started.log })
  const heads = openHeads(
    { settings, isLineageKnown },
    {
      ...{ self, policy, probation, tasks, journal, trainedOn: parts.trainedOn, phases, now, after, random },
      ...{ wake: changed.wake, swarm: () => late.swarm, joined: meta?.joined, audits },
      mustWait,
      hasTeacher: hasTeacher(host),
      alarm: (message, goodAt) => late.core?.alarm(message, goodAt),
      isUnknown: (author) => late.core?.learner.isUnknown(author) ?? true,
    },
  )
  await openWorld(context, parts, heads)
  const state = createNodeState({
    ...{ wishes, limits, events, phases },
    trouble: () => journal.trouble,
  })
  const rounds = await openRounds(
    { atLeast: restored?.state.rounds ?? 0 },
    { database: started.home.database },
  )
  closers.add(rounds.close)
  const parked = createParkedGroups()
  const { dropped } = restored?.parked ? parked.load(restored.parked) : {}
  if (dropped) log('warn', `interrupted rollouts of the checkpoint were dropped: ${dropped}`)
  const record = createTrainingRecord(
    { phases: meta?.phases },
    { facts: () => trainingFacts(settings(), { tasks }) },
  )
  const saving = createSaving({
    ...{ monotonic, phases, models, policies, plugins: host, pool, parked, checkpoints, journal, record },
    ...{ heads, audits, disk, mayWrite: limits.mayWrite, isRestored: restored !== undefined },
    schedule: () => settings().checkpoint,
    rounds: () => rounds.count,
    learner: () => late.core?.learner.state(),
    headLineage: isLineageKnown ? policy.lineage : undefined,
  })
  const begun =
    !restored &&
    (await makeWarmStart(
      { config, phase: trainingFacts(config, { tasks }), signal: context.options.signal },
      // As all nodes of the lineage: then they begin with equal weights, which audits build on.
      {
        ...{ policy, tasks, phases, log, limits: { mustWait, changed, info: limits.info } },
        tell: (message) => context.options.onProgress({ message }),
        random: randomStream(0, `warm start/${policy.lineage}`),
      },
    ))
  if (begun) {
    record.begin(begun)
    await audits.begun(await policy.trainer.weights())
    await saving.save()
  }
  const core = openCore(
    { settings, self, seed, restored: restored?.state.learner },
    {
      ...{ policy, plugins: host, pool, parked, journal, phases, roles, restore: saving.restore },
      recorder: audits.recorder,
      isKnown: (author) => late.swarm?.isKnown(author) ?? false,
      isJoined: heads.isAveraged,
      nodes: () => heads.nodes,
    },
  )
  late.core = core
  return { heads, audits, wishes, state, rounds, parked, record, saving, core }
}

/** Opens the plugins with what they may ask of the node. */
async function openWorld(
  { options: { config, paths }, started: { phases }, machine }: NodeContext,
  { host, tasks, models, policies: { policy, roles, teachers: others }, restored }: Parts,
  heads: NodeHeads,
): Promise<void> {
  const { model } = models
  const { fetch, sleep, env } = machine
  const teachers = await openTeachers(
    { paths, key: env.WAGGLE_TEACHER_KEY },
    { policy, models: others, disk, fetch, sleep, phases, heads: () => heads.teaching() },
  )
  const world = createPluginWorld(
    {
      limits: { context: model.spec.contextLength, completion: config.model.max_completion_tokens },
      temperature: config.rollout.temperature,
    },
    {
      tasks,
      policy: {
        sampler: { generate: (...asked) => policy.sampler.generate(...asked) },
        scorer: { score: (request) => policy.scorer.score(request) },
        tokenizer: model.tokenizer,
      },
      ...{ roles, teachers },
    },
  )
  await host.open(world, policy.reference().version, restored?.plugins)
}
